# Third-party libraries, one imported target each, named as in docs/include-table.txt.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(sand_pkg name module)
    pkg_check_modules(SAND_PKG_${name} REQUIRED IMPORTED_TARGET ${module})
    add_library(third_${name} INTERFACE)
    target_link_libraries(third_${name} INTERFACE PkgConfig::SAND_PKG_${name})
endfunction()

sand_pkg(nettle nettle)
sand_pkg(libxml2 libxml-2.0)
sand_pkg(libyaml yaml-0.1)
sand_pkg(lzma liblzma)
sand_pkg(zlib zlib)
sand_pkg(lmdb lmdb)
sand_pkg(igraph igraph)

# Debian's libcsv has no .pc file.
find_path(SAND_CSV_INCLUDE csv.h REQUIRED)
find_library(SAND_CSV_LIBRARY csv REQUIRED)
add_library(third_libcsv INTERFACE)
target_include_directories(third_libcsv SYSTEM INTERFACE ${SAND_CSV_INCLUDE})
target_link_libraries(third_libcsv INTERFACE ${SAND_CSV_LIBRARY})

# Debian's simgrid.pc and libsimgrid carry everything; the C++ headers need Boost.
find_path(SAND_SIMGRID_INCLUDE simgrid/s4u.hpp REQUIRED)
find_library(SAND_SIMGRID_LIBRARY simgrid REQUIRED)
add_library(third_simgrid INTERFACE)
target_include_directories(third_simgrid SYSTEM INTERFACE ${SAND_SIMGRID_INCLUDE})
target_link_libraries(third_simgrid INTERFACE ${SAND_SIMGRID_LIBRARY})

# The serial flavour, found without HDF5's own compiler wrappers.
pkg_check_modules(SAND_PKG_hdf5 IMPORTED_TARGET hdf5-serial)
if(NOT SAND_PKG_hdf5_FOUND)
    pkg_check_modules(SAND_PKG_hdf5 REQUIRED IMPORTED_TARGET hdf5)
endif()
add_library(third_hdf5 INTERFACE)
find_library(SAND_HDF5_HL NAMES hdf5_hl hdf5_serial_hl HINTS ${SAND_PKG_hdf5_LIBRARY_DIRS} REQUIRED)
target_link_libraries(third_hdf5 INTERFACE ${SAND_HDF5_HL} PkgConfig::SAND_PKG_hdf5)

# Header-only, or part of the C library.
foreach(name random123 uthash argp)
    add_library(third_${name} INTERFACE)
endforeach()
add_library(third_dl INTERFACE)
target_link_libraries(third_dl INTERFACE ${CMAKE_DL_LIBS})
