# How tests and benchmarks are compiled and linked quicker. A build without them is left alone.
if(NOT SEMEL_TESTS AND NOT SEMEL_BENCHMARKS)
  return()
endif()

# The linker of a debug build works longest at its symbols.
include(CheckLinkerFlag)
foreach(linker mold gold)
  check_linker_flag(CXX -fuse-ld=${linker} SEMEL_HAS_${linker})
  if(SEMEL_HAS_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

# A compiled file is found again by what stands in it, in any clone.
find_program(SEMEL_CCACHE ccache)
if(SEMEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SEMEL_CCACHE})
endif()
# ccache may give a precompiled header back whose headers were written again since, with the same text: Clang
# would refuse it.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
