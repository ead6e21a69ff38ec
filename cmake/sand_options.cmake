# Build options and the warning set every target of ours is compiled with.
option(SAND_TESTS "Build the tests" ON)
option(SAND_WERROR "Treat warnings as errors" OFF)
option(SAND_HOSTILE "Tiny constants, invariants checked after every event" OFF)
option(SAND_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
set(SAND_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Same input, same bytes: no contraction of a*b+c into one rounding, on any target.
add_compile_options(-ffp-contract=off -fno-math-errno)
add_compile_definitions(_GNU_SOURCE)
if(SAND_HOSTILE)
    add_compile_definitions(SAND_HOSTILE=1)
endif()
if(SAND_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(SAND_SANITIZE)
    add_compile_options(-fsanitize=${SAND_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${SAND_SANITIZE})
endif()

add_library(sand_warnings INTERFACE)
target_compile_options(sand_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla>
    $<$<BOOL:${SAND_WERROR}>:-Werror>)
