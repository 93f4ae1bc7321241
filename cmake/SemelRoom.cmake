# A room: one folder of src/, one static library, and the test program of the tests beside its code.
#
#   semel_room(core DEPENDS base SOURCES a.cc b.cc TESTS a_test.cc LINK fmt::fmt)
#
# DEPENDS names the rooms it may know; LINK is what only it may see. SERVERS names the servers that its
# tests share (SemelServers.cmake).
include(GNUInstallDirs)
include(SemelServers)
include(GoogleTest OPTIONAL)

add_library(semel_flags INTERFACE)
target_compile_features(semel_flags INTERFACE cxx_std_20)
target_compile_options(semel_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror>)
if(CMAKE_UNITY_BUILD)
  # A private Impl that uses a local type is fine in a source file, also when it is included.
  target_compile_options(semel_flags INTERFACE -Wno-subobject-linkage)
endif()
if(SEMEL_FAILPOINTS)
  target_compile_definitions(semel_flags INTERFACE SEMEL_FAILPOINTS=1)
endif()
if(SEMEL_SANITIZE)
  # What the sanitizers add confuses GCC's guess at what is not initialised; they know.
  target_compile_options(semel_flags INTERFACE -fsanitize=${SEMEL_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  target_link_options(semel_flags INTERFACE -fsanitize=${SEMEL_SANITIZE})
  # Programs of 200 MB are half of the time to link with it.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold SEMEL_HAS_GOLD)
  if(SEMEL_HAS_GOLD)
    target_link_options(semel_flags INTERFACE -fuse-ld=gold)
  endif()
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

function(semel_pch target)
  if(NOT TARGET semel_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/semel_pch.cc "")
    find_package(fmt CONFIG REQUIRED)
    add_library(semel_pch OBJECT ${CMAKE_BINARY_DIR}/semel_pch.cc)
    target_link_libraries(semel_pch PRIVATE semel_flags fmt::fmt)
    target_precompile_headers(semel_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h)
  endif()
  target_precompile_headers(${target} REUSE_FROM semel_pch)
endfunction()

# semel_test_parts(PROGRAM ...): all its tests in one process, or in a few where they take long. To start
# a program with sanitizers costs more than most of its tests do.
function(semel_test_parts name)
  cmake_parse_arguments(T "" "PREFIX" "LABELS;SERVERS;PROPERTIES" ${ARGN})
  set(parts 1)
  if(T_SERVERS OR NOT T_LABELS STREQUAL "unit")
    set(parts 4)
  endif()
  foreach(part RANGE 1 ${parts})
    math(EXPR index "${part} - 1")
    set(test "${SEMEL_TEST_PREFIX}${T_PREFIX}${name}")
    if(parts GREATER 1)
      string(APPEND test ".${part}")
    endif()
    add_test(NAME ${test} COMMAND ${name})
    # The long ones first: the last to end ends alone.
    set(how "GTEST_TOTAL_SHARDS=set:${parts}" "GTEST_SHARD_INDEX=set:${index}")
    if(SEMEL_SANITIZE MATCHES "thread")
      # A test that forks does so beside the threads of those before it.
      list(APPEND how "TSAN_OPTIONS=set:die_after_fork=0")
    endif()
    if(SEMEL_SANITIZE MATCHES "address" AND "chaos" IN_LIST T_LABELS)
      # Its programs are started thousands of times, and half of a start is the list of all that is global.
      # The other tests have it looked at.
      list(APPEND how "ASAN_OPTIONS=set:report_globals=0")
    endif()
    set_tests_properties(${test} PROPERTIES TIMEOUT 1500 LABELS "${T_LABELS}" COST ${parts}
      ENVIRONMENT_MODIFICATION "${how}" ${T_PROPERTIES})
  endforeach()
endfunction()

# semel_test_program(NAME SOURCES ... FAILPOINTS ...): the tests of one program, in the builds that take
# it by its name (CMakePresets.json). FAILPOINTS: only where there are some.
function(semel_test_program name)
  cmake_parse_arguments(P "FAILPOINTS" "TIMEOUT;PREFIX" "SOURCES;DEPENDS;LINK;LABELS;SERVERS" ${ARGN})
  if(P_FAILPOINTS AND NOT SEMEL_FAILPOINTS)
    return()
  endif()
  if(P_FAILPOINTS AND SEMEL_TEST_SKIP AND name MATCHES "${SEMEL_TEST_SKIP}")
    message(FATAL_ERROR "${name} would run nowhere: what is called ${SEMEL_TEST_SKIP} runs in the release "
                        "build, which has no failpoints. Name it otherwise.")
  endif()
  if(NOT name MATCHES "${SEMEL_TEST_FILTER}" OR (SEMEL_TEST_SKIP AND name MATCHES "${SEMEL_TEST_SKIP}"))
    return()
  endif()
  # Test code needs no optimisation, and GCC 12 sees out-of-bounds copies in optimised std::string.
  set(plain -O0)
  if(NOT TARGET semel_test_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/semel_test_pch.cc "")
    add_library(semel_test_pch OBJECT ${CMAKE_BINARY_DIR}/semel_test_pch.cc)
    target_link_libraries(semel_test_pch PRIVATE semel_flags fmt::fmt GTest::gtest)
    target_compile_options(semel_test_pch PRIVATE ${plain})
    target_precompile_headers(semel_test_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch.h <gtest/gtest.h>)
    # The compiler takes a precompiled header only where code is placed in the same way.
    set_target_properties(semel_test_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
  add_executable(${name} ${P_SOURCES})
  target_compile_options(${name} PRIVATE ${plain})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  list(TRANSFORM P_DEPENDS PREPEND semel_)
  target_link_libraries(${name} PRIVATE semel_flags ${P_DEPENDS} ${P_LINK} fmt::fmt GTest::gtest
                                        GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_precompile_headers(${name} REUSE_FROM semel_test_pch)
  if(NOT P_TIMEOUT)
    set(P_TIMEOUT 120)
  endif()
  if(NOT P_LABELS)
    set(P_LABELS unit)
  endif()
  semel_servers(server_properties ${name} ${P_SERVERS})
  if(SEMEL_SANITIZE)
    semel_test_parts(${name} LABELS ${P_LABELS} PREFIX "${P_PREFIX}" SERVERS ${P_SERVERS}
                     PROPERTIES ${server_properties})
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
                         TEST_PREFIX "${SEMEL_TEST_PREFIX}${P_PREFIX}"
                         PROPERTIES TIMEOUT ${P_TIMEOUT} LABELS "${P_LABELS}" ${server_properties})
  endif()
  set_property(GLOBAL APPEND PROPERTY SEMEL_TEST_PROGRAMS ${name})
endfunction()

function(semel_room name)
  cmake_parse_arguments(R "" "" "DEPENDS;SOURCES;TESTS;LINK;TEST_DEPENDS;SERVERS" ${ARGN})
  add_library(semel_${name} STATIC ${R_SOURCES})
  add_library(Semel::${name} ALIAS semel_${name})
  list(TRANSFORM R_DEPENDS PREPEND semel_ OUTPUT_VARIABLE depends)
  target_link_libraries(semel_${name} PUBLIC semel_contract tl::expected ${depends} Threads::Threads)
  target_link_libraries(semel_${name} PRIVATE $<BUILD_INTERFACE:semel_flags> ${R_LINK} fmt::fmt)
  target_include_directories(semel_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  semel_pch(semel_${name})
  set_property(GLOBAL APPEND PROPERTY SEMEL_LIBRARIES semel_${name})
  if(SEMEL_TESTS AND R_TESTS)
    semel_test_program(semel_${name}_test SOURCES ${R_TESTS} DEPENDS ${name} ${R_TEST_DEPENDS}
                       SERVERS ${R_SERVERS})
  endif()
endfunction()
