# The install rules: the libraries, the public headers, the pages, and the package files by which
# find_package(Semel) and pkg-config find them. The program is put down by src/cli.
include(CMakePackageConfigHelpers)
include(SemelPkgConfig)

get_property(libraries GLOBAL PROPERTY SEMEL_LIBRARIES)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/Semel)

# What an installation needs built: `./setup` makes it.
add_custom_target(semel_package)
foreach(library IN LISTS libraries)
  get_target_property(type ${library} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    add_dependencies(semel_package ${library})
  endif()
endforeach()
if(TARGET semel_cli)
  add_dependencies(semel_package semel_cli)
endif()

install(TARGETS ${libraries} EXPORT SemelTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/semel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN conformance EXCLUDE)
install(EXPORT SemelTargets NAMESPACE Semel:: DESTINATION ${package_directory})
# For the package file: what was built, what each needs, and the options of all.
set(SEMEL_PACKAGE_FACTS "set(semel_components ${SEMEL_COMPONENTS})\nset(semel_core_needs ${SEMEL_CORE_NEEDS})\n")
foreach(component IN LISTS SEMEL_ALL_COMPONENTS)
  string(APPEND SEMEL_PACKAGE_FACTS "set(semel_needs_of_${component} ${SEMEL_NEEDS_OF_${component}})\n"
                                    "set(semel_option_of_${component} ${SEMEL_OPTION_OF_${component}})\n")
endforeach()
configure_package_config_file(cmake/SemelConfig.cmake.in ${PROJECT_BINARY_DIR}/SemelConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SemelConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_file(cmake/SemelLibraries.cmake ${PROJECT_BINARY_DIR}/SemelLibraries.cmake COPYONLY)
install(FILES ${PROJECT_BINARY_DIR}/SemelConfig.cmake ${PROJECT_BINARY_DIR}/SemelConfigVersion.cmake
              ${PROJECT_BINARY_DIR}/SemelLibraries.cmake
        DESTINATION ${package_directory})
# find_package() finds the package in the folder of a build too: with the targets of that build.
set_target_properties(semel_flags PROPERTIES EXPORT_NAME flags)
export(TARGETS semel_flags ${libraries} NAMESPACE Semel:: FILE ${PROJECT_BINARY_DIR}/SemelTargets.cmake)
if(SEMEL_CONFORMANCE)
  add_dependencies(semel_package semel_conformance)
  install(TARGETS semel_conformance EXPORT SemelConformanceTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/semel/conformance DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/semel)
  install(EXPORT SemelConformanceTargets NAMESPACE Semel:: DESTINATION ${package_directory})
  export(TARGETS semel_conformance NAMESPACE Semel:: FILE ${PROJECT_BINARY_DIR}/SemelConformanceTargets.cmake)
endif()
# The pages, and all that they link: somebody may have nothing but the package. Their folders are those of the
# repository, so that the links between them lead somewhere. What running an example leaves in its folder stays there.
install(FILES LICENSE README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES benchmarks/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/benchmarks)
install(FILES tests/spec/reference.py DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/spec)
install(DIRECTORY docs spec monitoring DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN site EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS
        PATTERN build EXCLUDE PATTERN records EXCLUDE PATTERN letters EXCLUDE PATTERN __pycache__ EXCLUDE
        PATTERN conformance.txt EXCLUDE PATTERN checked.txt EXCLUDE PATTERN port EXCLUDE
        REGEX "[.](db|db-.*|log|pem|sock.*)$" EXCLUDE REGEX "_token$" EXCLUDE)
file(RELATIVE_PATH to_headers ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
install(CODE "
  file(CREATE_LINK \"${to_headers}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/include\" SYMBOLIC)")
