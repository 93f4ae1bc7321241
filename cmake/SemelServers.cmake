# The servers that tests share: each is started once in a run of ctest, before the first test that
# needs it, and stopped after the last. Tests say so by
#
#   semel_test_program(... SERVERS postgres mariadb mysql8 redis redis_cluster kafka rabbitmq nats elasticmq)
#
# and find it by PostgresServer::shared() (tests/support/database_server.h). MySQL 8, Kafka and ElasticMQ are no
# packages of Debian's: where one was not fetched, a test that is skipped says why, and the others are not there.

# semel_servers(VARIABLE PROGRAM SERVER...): what its tests have as properties. They need one fixture,
# named like the program, which each of the servers is a part of: gtest_discover_tests() takes no lists.
function(semel_servers variable program)
  set(${variable} "" PARENT_SCOPE)
  if(NOT ARGN)
    return()
  endif()
  foreach(server IN LISTS ARGN)
    set_property(GLOBAL APPEND PROPERTY SEMEL_SERVER_${server} ${SEMEL_TEST_PREFIX}${program})
  endforeach()
  set(${variable} ENVIRONMENT SEMEL_TEST_SERVERS=${CMAKE_BINARY_DIR}/servers
                  FIXTURES_REQUIRED ${SEMEL_TEST_PREFIX}${program} PARENT_SCOPE)
endfunction()

option(SEMEL_TESTS_ASK_MYSQL8 "Tests ask MySQL 8 too, not MariaDB alone" ON)

# semel_find_fetched(NAME): sets SEMEL_NAME to the folder of what tests/support/fetch_NAME has brought,
# or SEMEL_NAME_ABSENT to why there is none.
function(semel_find_fetched name)
  string(TOUPPER SEMEL_${name} variable)
  get_property(asked GLOBAL PROPERTY ${variable} SET)
  if(NOT asked)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tests/support/fetch_${name} --cached
                    OUTPUT_VARIABLE home ERROR_VARIABLE why OUTPUT_STRIP_TRAILING_WHITESPACE
                    ERROR_STRIP_TRAILING_WHITESPACE)
    set_property(GLOBAL PROPERTY ${variable} "${home}")
    set_property(GLOBAL PROPERTY ${variable}_ABSENT "${why}")
  endif()
  foreach(one ${variable} ${variable}_ABSENT)
    get_property(value GLOBAL PROPERTY ${one})
    set(${one} "${value}" PARENT_SCOPE)
  endforeach()
endfunction()

function(semel_find_mysql8)
  if(SEMEL_TESTS_ASK_MYSQL8)
    semel_find_fetched(mysql8)
  else()
    set(SEMEL_MYSQL8 "")
    set(SEMEL_MYSQL8_ABSENT "SEMEL_TESTS_ASK_MYSQL8 is off in this build")
  endif()
  set(SEMEL_MYSQL8 "${SEMEL_MYSQL8}" PARENT_SCOPE)
  set(SEMEL_MYSQL8_ABSENT "${SEMEL_MYSQL8_ABSENT}" PARENT_SCOPE)
endfunction()

# semel_why_absent(VARIABLE SERVER): why the tests cannot start it; empty where they can.
function(semel_why_absent variable server)
  set(why "")
  if(server STREQUAL "kafka")
    semel_find_fetched(kafka)
    if(NOT SEMEL_KAFKA)
      set(why "${SEMEL_KAFKA_ABSENT}")
    endif()
  elseif(server STREQUAL "elasticmq")
    semel_find_fetched(elasticmq)
    if(NOT SEMEL_ELASTICMQ)
      set(why "${SEMEL_ELASTICMQ_ABSENT}")
    endif()
  elseif(server STREQUAL "mysql8")
    semel_find_mysql8()
    if(NOT SEMEL_MYSQL8)
      set(why "${SEMEL_MYSQL8_ABSENT}")
    endif()
  endif()
  set(${variable} "${why}" PARENT_SCOPE)
endfunction()

# Adds the tests that start and stop the servers. After all that name them.
function(semel_add_servers)
  foreach(server postgres mariadb mysql8 redis redis_cluster kafka rabbitmq nats elasticmq)
    get_property(fixtures GLOBAL PROPERTY SEMEL_SERVER_${server})
    set(test ${SEMEL_TEST_PREFIX}servers.${server})
    if(NOT fixtures)
      continue()
    endif()
    if(server STREQUAL mysql8 AND (DEFINED ENV{SEMEL_TEST_MYSQL_DSN} OR NOT SEMEL_TESTS_ASK_MYSQL8))
      continue()
    endif()
    semel_why_absent(absent ${server})
    if(absent)
      semel_absent_server(${test} "${absent}")
      continue()
    endif()
    set_property(GLOBAL APPEND PROPERTY SEMEL_TEST_PROGRAMS semel_test_server_keeper)
    foreach(way up down)
      add_test(NAME ${test}.${way}
               COMMAND semel_test_server_keeper ${way} ${server} ${CMAKE_BINARY_DIR}/servers)
      set_tests_properties(${test}.${way} PROPERTIES LABELS servers TIMEOUT 120)
    endforeach()
    set_tests_properties(${test}.up PROPERTIES FIXTURES_SETUP "${fixtures}")
    # A virtual machine that begins takes a processor for seconds, and each build has these servers: where all
    # began at once, none would be up in its time.
    if(server MATCHES "^(kafka|rabbitmq|elasticmq)$")
      set_tests_properties(${test}.up PROPERTIES RESOURCE_LOCK server_starts)
    endif()
    set_tests_properties(${test}.down PROPERTIES FIXTURES_CLEANUP "${fixtures}")
  endforeach()
endfunction()

# A test that ctest lists among those that did not run.
function(semel_absent_server test why)
  message(WARNING "${why}; the tests that need it are not there")
  add_test(NAME ${test}.absent COMMAND ${CMAKE_COMMAND} -E echo "${why}")
  set_tests_properties(${test}.absent PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION ".")
endfunction()
