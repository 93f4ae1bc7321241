# The servers that tests share: each is started once in a run of ctest, before the first test that
# needs it, and stopped after the last. Tests say so by
#
#   semel_test_program(... SERVERS postgres)
#
# and find it by PostgresServer::shared() (tests/support/database_server.h).

# semel_servers(VARIABLE SERVER...): what tests that need these servers have as properties.
function(semel_servers variable)
  set(${variable} "" PARENT_SCOPE)
  if(NOT ARGN)
    return()
  endif()
  set(fixtures "")
  foreach(server IN LISTS ARGN)
    semel_server_fixture(${server})
    list(APPEND fixtures ${SEMEL_TEST_PREFIX}${server})
  endforeach()
  # A list within the list that the properties are.
  list(JOIN fixtures "\\;" fixtures)
  set(${variable} FIXTURES_REQUIRED "${fixtures}" ENVIRONMENT SEMEL_TEST_SERVERS=${CMAKE_BINARY_DIR}/servers
      PARENT_SCOPE)
endfunction()

function(semel_server_fixture server)
  get_property(known GLOBAL PROPERTY SEMEL_SERVER_FIXTURES)
  if(server IN_LIST known)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY SEMEL_SERVER_FIXTURES ${server})
  set_property(GLOBAL APPEND PROPERTY SEMEL_TEST_PROGRAMS semel_test_server_keeper)
  foreach(way up down)
    set(test ${SEMEL_TEST_PREFIX}servers.${server}.${way})
    add_test(NAME ${test} COMMAND semel_test_server_keeper ${way} ${server} ${CMAKE_BINARY_DIR}/servers)
    set_tests_properties(${test} PROPERTIES LABELS servers TIMEOUT 120)
  endforeach()
  set_tests_properties(${SEMEL_TEST_PREFIX}servers.${server}.up
                       PROPERTIES FIXTURES_SETUP ${SEMEL_TEST_PREFIX}${server})
  set_tests_properties(${SEMEL_TEST_PREFIX}servers.${server}.down
                       PROPERTIES FIXTURES_CLEANUP ${SEMEL_TEST_PREFIX}${server})
endfunction()
