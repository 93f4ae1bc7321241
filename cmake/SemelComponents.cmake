# A program links these: Semel::guard, Semel::postgres and so on, and Semel::semel for all that was built.
# find_package(Semel COMPONENTS guard postgres) asks for the same names, and each has a file for pkg-config.
#
#   semel_component(postgres LIBRARY semel_postgres NEEDS postgres FLAGS -lpq)
#
# NEEDS names the libraries that it brings beside those of the core, as semel_find_library() knows them, and
# FLAGS how a linker does. A component that is not built is not declared; SEMEL_OPTION_OF_<name> says by
# which option it would be.
set(SEMEL_COMPONENTS "")
set(SEMEL_CORE_NEEDS threads openssl fmt expected)
set(SEMEL_CORE_FLAGS -lfmt -lcrypto -pthread)
set(SEMEL_ALL_COMPONENTS core guard memory sqlite testing postgres mysql redis kafka rabbitmq http admin runner)
foreach(component postgres mysql redis kafka rabbitmq http admin)
  string(TOUPPER ${component} SEMEL_OPTION_OF_${component})
  string(PREPEND SEMEL_OPTION_OF_${component} SEMEL_WITH_)
endforeach()
set(SEMEL_OPTION_OF_runner SEMEL_WITH_YAML)

macro(semel_component name)
  cmake_parse_arguments(C "" "LIBRARY" "NEEDS;FLAGS" ${ARGN})
  if(TARGET ${C_LIBRARY})
    list(APPEND SEMEL_COMPONENTS ${name})
    set(SEMEL_LIBRARY_OF_${name} ${C_LIBRARY})
    set(SEMEL_NEEDS_OF_${name} ${C_NEEDS})
    set(SEMEL_FLAGS_OF_${name} ${C_FLAGS})
    set_target_properties(${C_LIBRARY} PROPERTIES EXPORT_NAME ${name})
    if(NOT TARGET Semel::${name})
      add_library(Semel::${name} ALIAS ${C_LIBRARY})
    endif()
  endif()
endmacro()

get_property(libraries GLOBAL PROPERTY SEMEL_LIBRARIES)
foreach(library IN LISTS libraries)
  string(REPLACE "semel_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

semel_component(core LIBRARY semel_core)
semel_component(guard LIBRARY semel_guard)
semel_component(memory LIBRARY semel_memory)
semel_component(sqlite LIBRARY semel_sqlite NEEDS sqlite FLAGS -lsqlite3)
semel_component(testing LIBRARY semel_testing NEEDS sqlite FLAGS -lsqlite3)
semel_component(postgres LIBRARY semel_postgres NEEDS postgres FLAGS -lpq)
semel_component(mysql LIBRARY semel_mysql NEEDS mysql FLAGS -lmariadb)
semel_component(redis LIBRARY semel_redis NEEDS redis FLAGS -lhiredis -lssl)
# These are parts of the runner, and have nothing of their own that a program calls: to ask for one is to say
# that the runner must have it.
semel_component(kafka LIBRARY semel_kafka NEEDS kafka FLAGS -lrdkafka)
semel_component(rabbitmq LIBRARY semel_rabbitmq NEEDS rabbitmq FLAGS -lrabbitmq -lssl)
semel_component(http LIBRARY semel_http_handler NEEDS http FLAGS -lcurl)
if(SEMEL_HAS_ADMIN)
  semel_component(admin LIBRARY semel_admin NEEDS yaml admin FLAGS -lyaml-cpp -lmicrohttpd -lgnutls)
endif()
set(needs yaml)
set(flags -lyaml-cpp)
foreach(component IN LISTS SEMEL_COMPONENTS)
  list(APPEND needs ${SEMEL_NEEDS_OF_${component}})
  list(APPEND flags ${SEMEL_FLAGS_OF_${component}})
endforeach()
list(REMOVE_DUPLICATES needs)
list(REMOVE_DUPLICATES flags)
semel_component(runner LIBRARY semel_compose NEEDS ${needs} FLAGS ${flags})

add_library(semel_all INTERFACE)
add_library(Semel::semel ALIAS semel_all)
foreach(component IN LISTS SEMEL_COMPONENTS)
  target_link_libraries(semel_all INTERFACE ${SEMEL_LIBRARY_OF_${component}})
endforeach()
