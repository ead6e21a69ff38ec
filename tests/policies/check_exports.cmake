# Fails unless OBJECT defines exactly the dynamic symbols EXPECTED (a list).
#   cmake -DNM=nm -DOBJECT=x.so -DEXPECTED=sandtable_schedule_v0 -P check_exports.cmake
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${OBJECT}
    OUTPUT_VARIABLE out RESULT_VARIABLE rc)
if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${NM} fails on ${OBJECT}")
endif()
string(REGEX REPLACE " [^\n]*" "" out "${out}")
string(STRIP "${out}" out)
string(REPLACE "\n" ";" symbols "${out}")
if(NOT "${symbols}" STREQUAL "${EXPECTED}")
    message(FATAL_ERROR "${OBJECT} exports \"${symbols}\", not exactly \"${EXPECTED}\"")
endif()
