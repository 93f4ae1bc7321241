# A room: one folder of src/, one library, and the tests beside its code.
#
#   semel_room(core DEPENDS base SOURCES x.cc TESTS x_test.cc LINK fmt::fmt)
#
# DEPENDS names the rooms it may know; LINK is what only it may see, TEST_LINK what only its tests may.
# TEST_PROGRAM (default: unit) and TEST_BUILDS place the tests (SemelTests.cmake). CALM_TESTS are those
# that call the room from one thread: ThreadSanitizer's build has them only at night, for what a store's own thread
# does beside its callers is in the others.
# What is not built (SemelAdapters.cmake) is taken out of these lists. semel_room(core COLD ...): see semel_pch.
include(GNUInstallDirs)

add_library(semel_flags INTERFACE)
target_compile_features(semel_flags INTERFACE cxx_std_20)
target_compile_options(semel_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>
  # librdkafka's macros look at types in one.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-statement-expression>)
if(SEMEL_WERROR)
  target_compile_options(semel_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(CMAKE_UNITY_BUILD)
  # A private Impl that uses a local type is fine in a source file, also when it is included.
  target_compile_options(semel_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(SEMEL_SANITIZE)
  # What the sanitizers add confuses GCC's guess at what is not initialised; they know.
  target_compile_options(semel_flags INTERFACE
    -fsanitize=${SEMEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(SEMEL_SANITIZE MATCHES "undefined" AND NOT SEMEL_NIGHTLY)
    # A check of each pointer at each use is half of a room's code, and AddressSanitizer sees the null
    # and the dangling ones. What it does not see is looked for at night.
    target_compile_options(semel_flags INTERFACE
      -fno-sanitize=null,alignment,object-size,vptr,pointer-overflow,nonnull-attribute,returns-nonnull-attribute)
  endif()
  # UBSan's checks would be more than half of the tests' code; what they are to find is in the rooms. A sanitizer
  # that stops in a test names the function, and in a room the line.
  target_compile_options(semel_flags INTERFACE
                         "$<$<BOOL:$<TARGET_PROPERTY:SEMEL_TEST_CODE>>:-fno-sanitize=undefined;-g0>")
  target_link_options(semel_flags INTERFACE -fsanitize=${SEMEL_SANITIZE})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(SEMEL_SANITIZE MATCHES "undefined")
  # UBSan notes a place for each of its checks, millions of them: in a program that may stand anywhere
  # in memory each is mended at every start, and tests start thousands of processes.
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(semel_flags INTERFACE -fno-pie)
  target_link_options(semel_flags INTERFACE -no-pie)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(semel_contract INTERFACE)
target_include_directories(semel_contract INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(semel_contract INTERFACE cxx_std_20)
set_property(GLOBAL PROPERTY SEMEL_LIBRARIES semel_contract)

# semel_make_pch(NAME HEADERS ... OPTIONS ... LINK ...): the precompiled header NAME, once.
function(semel_make_pch name)
  cmake_parse_arguments(H "" "" "HEADERS;OPTIONS;LINK" ${ARGN})
  if(TARGET ${name})
    return()
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE semel_flags semel_contract tl::expected fmt::fmt ${H_LINK})
  target_compile_options(${name} PRIVATE ${H_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h ${H_HEADERS})
  if(SEMEL_CCACHE)
    # GCC reads a header again whose text is not that of the precompiled one, and comments are text: without
    # this, ccache would give back the one of other comments.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "env;CCACHE_COMMENTS=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

option(SEMEL_OPTIMIZE_COLD_LESS "-O1 for what no message passes through: for the preset release alone" OFF)

# semel_pch(TARGET [COLD]): COLD is what no message passes through: what reads a config, or is a command of the program.
# Optimised less, it is compiled in two thirds of the time.
function(semel_pch target)
  set(pch semel_pch)
  set(options "")
  if("COLD" IN_LIST ARGN AND SEMEL_OPTIMIZE_COLD_LESS)
    set(pch semel_cold_pch)
    set(options -O1)
  endif()
  semel_make_pch(${pch} OPTIONS ${options})
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# Libraries are static unless BUILD_SHARED_LIBS asks for shared ones. These have each other's names of the
# namespace semel, which are no interface, and no others: a program compiles against include/semel alone.
# Before 1.0 a minor version may change any of them, so the soname has it.
set(SEMEL_LIBRARY_TYPE STATIC)
if(BUILD_SHARED_LIBS)
  set(SEMEL_LIBRARY_TYPE SHARED)
endif()
function(semel_shared target)
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    DEFINE_SYMBOL "" INSTALL_RPATH $ORIGIN LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exported.map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exported.map)
  if(NOT SEMEL_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()

function(semel_room name)
  cmake_parse_arguments(R "COLD" "TEST_PROGRAM" "DEPENDS;SOURCES;TESTS;CALM_TESTS;LINK;TEST_LINK;TEST_DEPENDS;TEST_BUILDS" ${ARGN})
  if(SEMEL_ABSENT)
    list(REMOVE_ITEM R_DEPENDS ${SEMEL_ABSENT})
    list(REMOVE_ITEM R_LINK ${SEMEL_ABSENT})
  endif()
  add_library(semel_${name} ${SEMEL_LIBRARY_TYPE} ${R_SOURCES})
  add_library(Semel::${name} ALIAS semel_${name})
  if(BUILD_SHARED_LIBS)
    semel_shared(semel_${name})
  endif()
  list(TRANSFORM R_DEPENDS PREPEND semel_ OUTPUT_VARIABLE depends)
  target_link_libraries(semel_${name} PUBLIC semel_contract tl::expected ${depends} Threads::Threads)
  target_link_libraries(semel_${name} PRIVATE $<BUILD_INTERFACE:semel_flags> ${R_LINK} fmt::fmt)
  target_include_directories(semel_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set(cold "")
  if(R_COLD)
    set(cold COLD)
  endif()
  semel_pch(semel_${name} ${cold})
  set_property(GLOBAL APPEND PROPERTY SEMEL_LIBRARIES semel_${name})
  if(SEMEL_NIGHTLY OR NOT SEMEL_BUILD STREQUAL "tsan")
    list(APPEND R_TESTS ${R_CALM_TESTS})
  endif()
  if(SEMEL_TESTS AND R_TESTS)
    if(NOT R_TEST_PROGRAM)
      set(R_TEST_PROGRAM unit)
    endif()
    semel_test_suite(${name} PROGRAM ${R_TEST_PROGRAM} BUILDS ${R_TEST_BUILDS} SOURCES ${R_TESTS}
                     DEPENDS ${name} ${R_TEST_DEPENDS} LINK ${R_LINK} ${R_TEST_LINK})
  endif()
endfunction()
