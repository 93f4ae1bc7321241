# The install rules: the libraries, the public headers, the pages and the package files
# that give find_package(Semel) its target, Semel::semel, and find_package(Semel COMPONENTS conformance)
# Semel::conformance as well. The program is put down by src/cli.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY SEMEL_LIBRARIES)
list(FILTER libraries EXCLUDE REGEX "_cli$")
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/Semel)

# One name for all rooms: which of them a program needs is the linker's business.
add_library(semel_all INTERFACE)
add_library(Semel::semel ALIAS semel_all)
target_link_libraries(semel_all INTERFACE ${libraries})
set_target_properties(semel_all PROPERTIES EXPORT_NAME semel)

foreach(library IN LISTS libraries)
  string(REPLACE "semel_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

# What an installation needs built: `./setup` makes it.
add_custom_target(semel_package)
foreach(library IN LISTS libraries)
  get_target_property(type ${library} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    add_dependencies(semel_package ${library})
  endif()
endforeach()

install(TARGETS semel_all ${libraries} EXPORT SemelTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/semel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN conformance EXCLUDE)
if(TARGET semel_cli)
  add_dependencies(semel_package semel_cli)
endif()
install(EXPORT SemelTargets NAMESPACE Semel:: DESTINATION ${package_directory})
configure_package_config_file(cmake/SemelConfig.cmake.in ${PROJECT_BINARY_DIR}/SemelConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SemelConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SemelConfig.cmake ${PROJECT_BINARY_DIR}/SemelConfigVersion.cmake
        DESTINATION ${package_directory})
# find_package() finds the package in the folder of a build too: with the targets of that build.
set_target_properties(semel_flags PROPERTIES EXPORT_NAME flags)
export(TARGETS semel_all semel_flags ${libraries} NAMESPACE Semel:: FILE ${PROJECT_BINARY_DIR}/SemelTargets.cmake)
if(SEMEL_CONFORMANCE)
  add_dependencies(semel_package semel_conformance)
  install(TARGETS semel_conformance EXPORT SemelConformanceTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/semel/conformance DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/semel)
  install(EXPORT SemelConformanceTargets NAMESPACE Semel:: DESTINATION ${package_directory})
  export(TARGETS semel_conformance NAMESPACE Semel:: FILE ${PROJECT_BINARY_DIR}/SemelConformanceTargets.cmake)
endif()
# The pages, and the example of the one for writers of stores, who may have nothing but the package. Their folders
# are those of the repository, so that the links between them lead somewhere.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples/directory-store DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples USE_SOURCE_PERMISSIONS
        PATTERN build EXCLUDE PATTERN records EXCLUDE PATTERN conformance.txt EXCLUDE)
