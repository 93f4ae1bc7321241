# Text files as constants of a library.
#
#   semel_embed(semel_redis stores/redis/lua.h semel::redis::lua scripts)
#
# compiles each file (.lua, .sql) of the folder `scripts` into the library: scripts/claim_before.lua is
# semel::redis::lua::kClaimBefore, which the header declares. A file that it does not declare, or a
# declaration without its file, does not build. sources() names them all.
function(semel_embed library header namespace folder)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.lua
       ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.sql)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${folder}.cc)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${source} -D HEADER=${header} -D NAMESPACE=${namespace} -D "FILES=${files}"
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${CMAKE_CURRENT_FUNCTION_LIST_FILE} VERBATIM)
  target_sources(${library} PRIVATE ${source})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

# The command of the build: writes the source.
set(constants "")
set(names "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  string(REPLACE "_" ";" words ${name})
  set(constant k)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND constant ${first}${rest})
  endforeach()
  file(READ ${file} text)
  string(APPEND constants "const char* const ${NAMESPACE}::${constant} = R\"embedded(${text})embedded\";\n")
  string(APPEND names "    {\"${name}\", ${NAMESPACE}::${constant}},\n")
endforeach()
file(WRITE ${SOURCE} "#include \"${HEADER}\"

#include <span>

// Qualified names: each must be declared in the header.
${constants}
std::span<const ${NAMESPACE}::Source> ${NAMESPACE}::sources() noexcept {
  static const Source kSources[] = {
${names}  };
  return kSources;
}
")
