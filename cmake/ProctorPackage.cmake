# find_package(Proctor) finds the build tree (-DProctor_DIR=BUILD) or what was installed from it. Included last.
include(CMakePackageConfigHelpers)

set(PROCTOR_CONFIG_EXECUTABLE "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/proctor")
set(PROCTOR_CONFIG_PROGRAMS "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
set(PROCTOR_CONFIG_MISSING "build the target `proctor` first")
set(PROCTOR_CONFIG_CMAKE_DIR "${PROJECT_SOURCE_DIR}/cmake")
set(PROCTOR_CONFIG_GTEST_LISTENER "${PROJECT_SOURCE_DIR}/harness/frameworks/gtest/proctor_gtest_listener.cc")
set(PROCTOR_CONFIG_INCLUDE_DIR "${PROJECT_SOURCE_DIR}/harness/journal")
configure_file(cmake/ProctorConfig.cmake.in "${PROJECT_BINARY_DIR}/ProctorConfig.cmake" @ONLY)

# Installed, all paths are relative to the file that holds them: the prefix may be moved.
function(proctor_from_config variable directory)
  file(RELATIVE_PATH path "/${PROCTOR_INSTALL_CMAKE}" "/${directory}")
  set(${variable} "\${CMAKE_CURRENT_LIST_DIR}/${path}" PARENT_SCOPE)
endfunction()
proctor_from_config(PROCTOR_CONFIG_EXECUTABLE ${CMAKE_INSTALL_BINDIR}/proctor)
proctor_from_config(PROCTOR_CONFIG_PROGRAMS ${PROCTOR_INSTALL_PROGRAMS})
set(PROCTOR_CONFIG_MISSING "install the component `runner` (the package proctor) too")
set(PROCTOR_CONFIG_CMAKE_DIR "\${CMAKE_CURRENT_LIST_DIR}")
proctor_from_config(PROCTOR_CONFIG_GTEST_LISTENER ${PROCTOR_INSTALL_SHARE}/gtest/proctor_gtest_listener.cc)
proctor_from_config(PROCTOR_CONFIG_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/proctor)
configure_file(cmake/ProctorConfig.cmake.in "${PROJECT_BINARY_DIR}/installed/ProctorConfig.cmake" @ONLY)

write_basic_package_version_file("${PROJECT_BINARY_DIR}/ProctorConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
