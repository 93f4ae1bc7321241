# What a test reads and starts beside its own program: ./test does not run one again where nothing of this
# has changed since it passed (tests/passes).
#
#   semel_test_reads(semel_cli_suite docs/cli.md tests/cli)
#   semel_test_starts(semel_cli_scene SEMEL_PROGRAM semel_cli)
#
# They hold for all that links the target. A program's list stands beside it, as PROGRAM.inputs, and code has
# these by no other way: test::input() ends a program that asks for a file which is not in its list
# (tests/support/inputs.h), and tidy.inputs refuses a path that is compiled in.

# semel_test_reads(TARGET PATH...): files and folders of the repository, relative to its root.
function(semel_test_reads target)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  set_property(TARGET ${target} APPEND PROPERTY SEMEL_INPUTS ${ARGN})
endfunction()

# semel_test_starts(TARGET MACRO PROGRAM): its code has the path of a target of this build as MACRO.
function(semel_test_starts target macro program)
  target_compile_definitions(${target} PRIVATE ${macro}="$<TARGET_FILE:${program}>")
  add_dependencies(${target} ${program})
  set_property(TARGET ${target} APPEND PROPERTY SEMEL_INPUTS $<TARGET_FILE:${program}>)
  set_property(TARGET ${target} APPEND PROPERTY SEMEL_STARTS ${program})
endfunction()

# semel_test_inputs(TEST FILE...): the same of a test that is a script, by its name: all that it reads of the
# repository, and of the build; the files of its command are in it already. Without it, this is all of the repository.
function(semel_test_inputs test)
  list(JOIN ARGN "\n" inputs)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${test}.inputs CONTENT "${inputs}\n")
endfunction()

# semel_list_inputs(PROGRAM): writes PROGRAM.inputs. Call it after all that the program links.
function(semel_list_inputs program)
  set(inputs "")
  set(seen "")
  set(waiting ${program})
  while(waiting)
    list(POP_FRONT waiting target)
    if(NOT TARGET ${target} OR target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES SEMEL_STARTS)
      get_target_property(linked ${target} ${property})
      if(linked)
        # Also those in generator expressions.
        string(REGEX MATCHALL "semel_[a-z0-9_]+" linked "${linked}")
        list(APPEND waiting ${linked})
      endif()
    endforeach()
    get_target_property(own ${target} SEMEL_INPUTS)
    if(own)
      list(APPEND inputs ${own})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES inputs)
  list(SORT inputs)
  list(JOIN inputs "\n" inputs)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${program}.inputs CONTENT "${inputs}\n")
endfunction()
