# Other projects' libraries, found by header and library: the names of pkg-config's modules differ from one
# distribution to the next, and so do their paths.
#
#     mv_library(NAME HEADERS LIBRARY [names..] [IN folder..] [WITH names..])
#
# makes mv::NAME, or says what is missing and stops. One of the headers is enough. IN names folders below the usual ones that may
# have the header; WITH names the libraries that LIBRARY.a needs itself (MV_STATIC).
option(MV_STATIC "link all libraries but the C library's own into the program" OFF)

# Two names, since what was found is kept.
set(MV_KIND LIBRARY)
if(MV_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(MV_KIND ARCHIVE)
endif()

function(mv_library name headers)
  cmake_parse_arguments(wanted "" "" "LIBRARY;IN;WITH" LIBRARY ${ARGN})
  find_path(MV_${name}_HEADERS NAMES ${headers} PATH_SUFFIXES ${wanted_IN})
  find_library(MV_${name}_${MV_KIND} NAMES ${wanted_LIBRARY})
  mark_as_advanced(MV_${name}_HEADERS MV_${name}_${MV_KIND})
  if(NOT MV_${name}_HEADERS OR NOT MV_${name}_${MV_KIND})
    message(FATAL_ERROR "the library ${name} or its header ${headers} is missing: see scripts/install-deps build test")
  endif()
  add_library(mv::${name} INTERFACE IMPORTED)
  target_include_directories(mv::${name} SYSTEM INTERFACE ${MV_${name}_HEADERS})
  target_link_libraries(mv::${name} INTERFACE ${MV_${name}_${MV_KIND}})
  if(MV_STATIC)
    foreach(other ${wanted_WITH})
      find_library(MV_${other}_${MV_KIND} NAMES ${other} REQUIRED)
      mark_as_advanced(MV_${other}_${MV_KIND})
      target_link_libraries(mv::${name} INTERFACE ${MV_${other}_${MV_KIND}})
    endforeach()
  endif()
endfunction()
