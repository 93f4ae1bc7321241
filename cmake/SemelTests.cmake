# Tests: suites, the programs that hold them, and the builds that run these.
#
#   semel_test_suite(core PROGRAM unit SOURCES x_test.cc DEPENDS core test_support BUILDS asan)
#   semel_test_program(unit LABEL unit BUILDS asan tsan)
#
# A suite is compiled once in a build, whichever programs hold it. A program has several suites, since
# starting a sanitized program costs more than most tests. BUILDS names the presets that run a program;
# a suite's own list narrows it. NIGHT_BUILDS names more of them, in ./test --nightly. RACES names
# builds that run only its tests with "Race" in their names, and all of it in ./test --nightly. The dev
# preset has everything.
include(GoogleTest OPTIONAL)

set(SEMEL_BUILD "dev" CACHE STRING "Which programs this build has: dev (all), release, asan or tsan")
option(SEMEL_NIGHTLY "Also what runs in this build only at night" OFF)
# Before each test's name, to tell builds apart in one run.
set(SEMEL_TEST_PREFIX "")
if(SEMEL_SANITIZE)
  set(SEMEL_TEST_PREFIX "${SEMEL_BUILD}:")
endif()

# semel_runs_here(VARIABLE BUILD... NIGHT BUILD...): whether this build is one of them, or one of the
# second ones at night. None named: any is.
function(semel_runs_here variable)
  cmake_parse_arguments(H "" "" "NIGHT" ${ARGN})
  set(builds ${H_UNPARSED_ARGUMENTS})
  if(SEMEL_NIGHTLY)
    list(APPEND builds ${H_NIGHT})
  endif()
  set(here OFF)
  if(SEMEL_BUILD STREQUAL "dev" OR NOT builds OR SEMEL_BUILD IN_LIST builds)
    set(here ON)
  endif()
  set(${variable} ${here} PARENT_SCOPE)
endfunction()

# Test code needs no optimisation, and GCC 12 sees out-of-bounds copies in optimised std::string.
function(semel_test_code target)
  semel_make_pch(semel_test_pch HEADERS <gtest/gtest.h> OPTIONS -O0 LINK GTest::gtest)
  target_compile_options(${target} PRIVATE -O0)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_precompile_headers(${target} REUSE_FROM semel_test_pch)
  # The compiler takes a precompiled header only where code is placed in the same way.
  set_target_properties(semel_test_pch ${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF SEMEL_TEST_CODE ON)
endfunction()

# ThreadSanitizer crashes at librdkafka's threads unless the program itself, where librdkafka looks
# first, says what they are.
function(semel_sees_librdkafka program)
  if(SEMEL_SANITIZE MATCHES "thread")
    target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan_c11_threads.cc)
    target_link_options(${program} PRIVATE -rdynamic)
  endif()
endfunction()

# semel_test_suite(NAME PROGRAM... SOURCES... DEPENDS... LINK... BUILDS... NIGHT_BUILDS...)
function(semel_test_suite name)
  cmake_parse_arguments(S "" "" "PROGRAM;SOURCES;DEPENDS;LINK;BUILDS;NIGHT_BUILDS" ${ARGN})
  set(target semel_${name}_suite)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${S_SOURCES})
  semel_test_code(${target})
  list(TRANSFORM S_DEPENDS PREPEND semel_)
  target_link_libraries(${target} PUBLIC ${S_DEPENDS} ${S_LINK} fmt::fmt GTest::gtest PRIVATE semel_flags)
  semel_runs_here(here ${S_BUILDS} NIGHT ${S_NIGHT_BUILDS})
  if(here)
    foreach(program IN LISTS S_PROGRAM)
      set_property(GLOBAL APPEND PROPERTY SEMEL_SUITES_${program} ${target})
    endforeach()
  endif()
endfunction()

# semel_test_program(NAME LABEL... BUILDS... NIGHT_BUILDS... RACES... SERVERS... NEEDS SERVER TIMEOUT SECONDS
#                    SHARES NUMBER TOGETHER FILTER WAITS AT_NIGHT BUILD:FILTER...):
# the program semel_NAME_test, of the suites that name it. Call it after theirs. NEEDS: there is none where
# that server is absent. SHARES: it runs in so many shares instead of a process for each test, as each
# sanitized program does. TOGETHER: the tests that do not: one process runs them, with a server of their
# own that they share. WAITS: they wait most of their time, for leases to end and for servers; one of
# all such shares runs at a time, or the processors would have nothing to do. AT_NIGHT: tests that run in
# that build only in ./test --nightly.
function(semel_test_program name)
  cmake_parse_arguments(P "WAITS" "LABEL;TIMEOUT;NEEDS;SHARES;TOGETHER" "SERVERS;BUILDS;NIGHT_BUILDS;RACES;AT_NIGHT" ${ARGN})
  get_property(suites GLOBAL PROPERTY SEMEL_SUITES_${name})
  semel_runs_here(here ${P_BUILDS} ${P_RACES} NIGHT ${P_NIGHT_BUILDS})
  semel_why_absent(absent "${P_NEEDS}")
  if(NOT here OR absent OR NOT suites)
    return()
  endif()
  set(program semel_${name}_test)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${program}.cc CONTENT "")
  add_executable(${program} ${CMAKE_CURRENT_BINARY_DIR}/${program}.cc)
  set_target_properties(${program} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${program} PRIVATE semel_flags ${suites} GTest::gtest_main)
  semel_sees_librdkafka(${program})
  set_property(GLOBAL APPEND PROPERTY SEMEL_TEST_PROGRAMS ${program})
  semel_list_inputs(${program})

  semel_servers(server_properties ${name} ${P_SERVERS})
  if(NOT P_TIMEOUT)
    set(P_TIMEOUT 120)
  endif()
  set(filter "*")
  set(left_out "")
  if(SEMEL_SANITIZE)
    set(P_SHARES 4)
  endif()
  if(NOT SEMEL_NIGHTLY)
    if(SEMEL_BUILD IN_LIST P_RACES)
      set(filter "*Race*")
      set(P_SHARES 1)
    endif()
    set(left_out ${P_AT_NIGHT})
    list(FILTER left_out INCLUDE REGEX "^${SEMEL_BUILD}:")
    list(TRANSFORM left_out REPLACE "^${SEMEL_BUILD}:" "")
  endif()
  if(P_TOGETHER AND NOT P_SHARES)
    list(APPEND left_out ${P_TOGETHER})
  endif()
  if(left_out)
    list(JOIN left_out ":" left_out)
    string(APPEND filter "-${left_out}")
  endif()
  if(P_WAITS)
    list(APPEND server_properties RESOURCE_LOCK waits)
  endif()
  if(P_SHARES)
    semel_test_shards(${program} ${name} ${P_SHARES} "${filter}" LABELS ${P_LABEL} ${server_properties})
  else()
    if(P_TOGETHER)
      semel_test_shards(${program} ${name}.together 1 "${P_TOGETHER}" LABELS ${P_LABEL} ${server_properties})
    endif()
    gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES TEST_FILTER "${filter}"
                         TEST_PREFIX "${SEMEL_TEST_PREFIX}"
                         PROPERTIES TIMEOUT ${P_TIMEOUT} LABELS ${P_LABEL} ${server_properties})
  endif()
endfunction()

# semel_test_shards(PROGRAM NAME SHARDS FILTER PROPERTY...): a program runs in a few shares, not in a
# process for each test.
function(semel_test_shards program name shards filter)
  set(timeout 1500)
  if(SEMEL_NIGHTLY)
    set(timeout 9000)
  endif()
  foreach(share RANGE 1 ${shards})
    math(EXPR index "${share} - 1")
    set(test "${SEMEL_TEST_PREFIX}${name}.${share}")
    add_test(NAME ${test} COMMAND ${program})
    set(how "GTEST_TOTAL_SHARDS=set:${shards}" "GTEST_SHARD_INDEX=set:${index}" "GTEST_FILTER=set:${filter}")
    if(SEMEL_SANITIZE MATCHES "thread")
      # A test that forks does so beside the threads of those before it.
      list(APPEND how "TSAN_OPTIONS=set:die_after_fork=0")
    endif()
    # The long ones first: the last to end ends alone.
    set_tests_properties(${test} PROPERTIES TIMEOUT ${timeout} COST 100 ENVIRONMENT_MODIFICATION "${how}" ${ARGN})
    if(NOT filter MATCHES "^[*](-|$)")
      # A filter that fits nothing must not pass.
      set_tests_properties(${test} PROPERTIES PASS_REGULAR_EXPRESSION "\\[  PASSED  \\] [1-9]"
                                              FAIL_REGULAR_EXPRESSION "FAILED|Sanitizer")
    endif()
  endforeach()
endfunction()
