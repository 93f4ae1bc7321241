# An option for each adapter, named after it.
#
#   SEMEL_WITH_KAFKA=AUTO   built where its library is found
#                   =ON     an error where it is not
#                   =OFF    not looked for
#
# SEMEL_HAS_KAFKA says what came of it. A folder of src/ whose adapter is not built is left out, as are its
# library and what that links: SEMEL_ABSENT has their names, which semel_room() takes out of its
# lists. The composition root and the program then say so, where a config names such an adapter.
include(SemelLibraries)

# Each with what it brings, for those who read it, and the library it needs as semel_find_library() knows it.
set(SEMEL_ADAPTERS
  "POSTGRES|the PostgreSQL store|postgres" "MYSQL|the MariaDB and MySQL store|mysql"
  "REDIS|the Redis store, front window, Redis Streams source and handler|redis" "YAML|the runner, the producer and the config|yaml"
  "KAFKA|the Kafka source and handler|kafka" "NATS|the NATS source and handler|nats"
  "RABBITMQ|the RabbitMQ source and handler|rabbitmq" "SQS|the SQS source, the SQS and SNS handlers|http"
  "HTTP|the HTTP handler and traces|http" "HTTP_SOURCE|the HTTP source|admin" "ADMIN|the HTTP listener of a run|admin"
  "PROGRAM|the program semel|program")
# Only a runner can use these, and it needs a config.
set(SEMEL_PARTS_OF_THE_RUNNER KAFKA NATS RABBITMQ SQS HTTP HTTP_SOURCE ADMIN PROGRAM)

foreach(library threads openssl fmt expected sqlite)
  semel_find_library(${library})
  if(NOT SEMEL_FOUND_${library})
    message(FATAL_ERROR "Semel needs ${SEMEL_LACKS_${library}}, which is not found.")
  endif()
endforeach()

set(SEMEL_SUMMARY "")
set(SEMEL_MISSING "")
foreach(line IN LISTS SEMEL_ADAPTERS)
  string(REPLACE "|" ";" line "${line}")
  list(GET line 0 adapter)
  list(GET line 1 what)
  list(GET line 2 library)
  set(option SEMEL_WITH_${adapter})
  set(usual AUTO)
  if(adapter STREQUAL "PROGRAM" AND NOT PROJECT_IS_TOP_LEVEL)
    set(usual OFF)
  endif()
  set(${option} ${usual} CACHE STRING "Build ${what}: AUTO, ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  set(SEMEL_HAS_${adapter} OFF)
  set(why "")
  if("${${option}}" STREQUAL "AUTO")
    set(wanted AUTO)
  elseif(${option})
    set(wanted ON)
  else()
    set(wanted OFF)
    set(why "${option} is OFF")
  endif()
  if(NOT wanted STREQUAL "OFF" AND adapter IN_LIST SEMEL_PARTS_OF_THE_RUNNER AND NOT SEMEL_HAS_YAML)
    if(wanted STREQUAL "ON")
      message(FATAL_ERROR "${option} is ON, and ${what} is a part of the runner, which is not built: "
                          "-DSEMEL_WITH_YAML=ON builds it.")
    endif()
    set(wanted OFF)
    set(why "the runner is not built: SEMEL_WITH_YAML")
  endif()
  if(NOT wanted STREQUAL "OFF")
    semel_find_library(${library})
    if(SEMEL_FOUND_${library})
      set(SEMEL_HAS_${adapter} ON)
    elseif(wanted STREQUAL "ON")
      message(FATAL_ERROR "${option} is ON, and ${what} needs ${SEMEL_LACKS_${library}}, which is not found.\n"
                          "Install it, or leave ${what} out: -D${option}=OFF")
    else()
      set(why "not found: ${SEMEL_LACKS_${library}}")
    endif()
  endif()
  if(SEMEL_HAS_${adapter})
    string(APPEND SEMEL_SUMMARY "\n  with     ${what}")
  else()
    string(APPEND SEMEL_SUMMARY "\n  without  ${what} (${why})")
    list(APPEND SEMEL_MISSING ${adapter})
  endif()
endforeach()

if(SEMEL_MISSING AND (SEMEL_TESTS OR SEMEL_BENCHMARKS))
  list(TRANSFORM SEMEL_MISSING PREPEND "SEMEL_WITH_" OUTPUT_VARIABLE missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "The tests and benchmarks need every adapter, and some are not built: ${missing}.\n"
                      "This is what would be built:${SEMEL_SUMMARY}\n"
                      "Without tests it is: -DSEMEL_TESTS=OFF -DSEMEL_BENCHMARKS=OFF")
endif()
if(SEMEL_HAS_REDIS)
  # A macro that only the size of files hangs on; the precompiled header was made without it.
  set_property(TARGET PkgConfig::HIREDIS PROPERTY INTERFACE_COMPILE_OPTIONS "")
endif()

# Each brings its folders of src/, their libraries, and what these link.
set(SEMEL_BRINGS_POSTGRES stores/postgres postgres)
set(SEMEL_BRINGS_MYSQL stores/mysql mysql)
set(SEMEL_BRINGS_REDIS clients/redis stores/redis sources/redis_streams handlers/redis_streams redis_client redis redis_streams
                       redis_streams_handler)
set(SEMEL_BRINGS_KAFKA clients/kafka sources/kafka handlers/kafka kafka_client kafka kafka_handler)
set(SEMEL_BRINGS_RABBITMQ clients/rabbitmq sources/rabbitmq handlers/rabbitmq rabbitmq_client rabbitmq
                          rabbitmq_handler)
set(SEMEL_BRINGS_NATS clients/nats sources/nats handlers/nats nats_client nats nats_handler)
set(SEMEL_BRINGS_SQS clients/sqs sources/sqs handlers/sqs sqs_client sqs sqs_handler)
# The room of traces stays: src/traces/http_post_absent.cc sends nowhere.
set(SEMEL_BRINGS_HTTP handlers/http http_handler)
set(SEMEL_BRINGS_HTTP_SOURCE sources/http http_source)
# Its room stays, and its API with it.
set(SEMEL_BRINGS_ADMIN "")
set(SEMEL_BRINGS_PROGRAM clients/api cli api_client)
set(SEMEL_BRINGS_YAML "")
set(SEMEL_ABSENT "")
foreach(adapter IN LISTS SEMEL_MISSING)
  list(APPEND SEMEL_ABSENT ${SEMEL_BRINGS_${adapter}})
endforeach()
if(NOT SEMEL_HAS_ADMIN AND NOT SEMEL_HAS_HTTP_SOURCE)
  # The server's room stays: src/http_server/http_server_absent.cc listens nowhere.
  list(APPEND SEMEL_ABSENT PkgConfig::MICROHTTPD PkgConfig::GNUTLS)
endif()
# All clients of HTTP share this room.
if(NOT SEMEL_HAS_SQS AND NOT SEMEL_HAS_HTTP AND NOT SEMEL_HAS_PROGRAM)
  list(APPEND SEMEL_ABSENT clients/curl curl)
endif()
# All else in src/ is the runner's.
set(SEMEL_ROOMS_OF_A_LOOP base system core strategies guard stores/memory stores/sql stores/sqlite stores/postgres
                          stores/mysql clients/redis stores/redis testing)

# semel_builds(VARIABLE ROOM): whether this folder of src/ is built.
function(semel_builds variable room)
  set(builds ON)
  if(room IN_LIST SEMEL_ABSENT OR NOT (SEMEL_HAS_YAML OR room IN_LIST SEMEL_ROOMS_OF_A_LOOP))
    set(builds OFF)
  endif()
  set(${variable} ${builds} PARENT_SCOPE)
endfunction()

# semel_left_out(TARGET SOURCE): one file of a library is not compiled.
function(semel_left_out target source)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "^(.*/)?${source}$")
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
endfunction()

# semel_instead(TARGET SOURCE INSTEAD): one file of a library is compiled instead of another.
function(semel_instead target source instead)
  get_target_property(sources ${target} SOURCES)
  list(TRANSFORM sources REPLACE "^(.*/)?${source}$" "${CMAKE_CURRENT_SOURCE_DIR}/${instead}")
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
endfunction()
