# Manual pages from the program's own --help, where help2man is there: with every release build, by the
# target "man" in a build with tests. The date is that of this version, so equal builds are equal pages.
set(SAND_MAN_EPOCH 1795996800) # 2026-11-30
find_program(SAND_HELP2MAN help2man)

if(SAND_HELP2MAN)
    set(sand_man ${CMAKE_CURRENT_BINARY_DIR}/man/man1)
    add_custom_command(OUTPUT ${sand_man}/sandtable.1
        COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${SAND_MAN_EPOCH} SANDTABLE_CACHE=none
            sh ${CMAKE_CURRENT_SOURCE_DIR}/cmake/manpages.sh $<TARGET_FILE:sandtable> ${sand_man} ${PROJECT_VERSION}
        DEPENDS sandtable ${CMAKE_CURRENT_SOURCE_DIR}/cmake/manpages.sh
        COMMENT "Writing the manual pages" VERBATIM)
    if(SAND_TESTS)
        add_custom_target(man DEPENDS ${sand_man}/sandtable.1)
    else()
        add_custom_target(man ALL DEPENDS ${sand_man}/sandtable.1)
    endif()
    install(DIRECTORY ${sand_man} DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
endif()
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/docs/man/sandtable-results.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/docs/completion/sandtable.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sandtable)
