# Unity builds compile the files of a target as a few: quicker by almost a half. A file that uses a
# local name of a neighbour is compiled alone. Where one is missing here the build says "redefinition";
# ./setup and ./test then build file by file, which takes longer.
if(NOT CMAKE_UNITY_BUILD)
  return()
endif()

# semel_alone(FOLDER FILE...): FOLDER is the one with the CMakeLists.txt.
function(semel_alone folder)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    return()
  endif()
  foreach(file IN LISTS ARGN)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${folder}/${file}
      DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

semel_alone(src/base sql_tokens.cc)
semel_alone(src/cli config_show.cc consumers.cc delivery_view.cc dlq_bulk.cc dlq_edit.cc dlq_import.cc init.cc
            records.cc records_bulk.cc run_report.cc store_verify.cc tap.cc)
semel_alone(src/config catalog_file.cc catalog_runtime.cc catalog_warnings.cc)
semel_alone(src/stores/sqlite generations.cc)
semel_alone(src/strategies finisher.cc two_phase.cc async_calls.cc calls.cc)
if(SEMEL_TESTS)
  semel_alone(src/engine async_test.cc)
  semel_alone(src/strategies two_part_test.cc)
  semel_alone(src/config reference_test.cc)
  semel_alone(src/core key_encoding_test.cc key_recipe_test.cc sequencer_property_test.cc standard_keys_test.cc)
  semel_alone(tests/conformance operate_suite.cc run_markers_suite.cc sqlite_source_case.cc unit_model_suite.cc)
  semel_alone(tests/conformance/strategy sqlite_cases.cc)
endif()
