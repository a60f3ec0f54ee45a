# find_package(Proctor) finds the build tree (-DProctor_DIR=BUILD). There is no installed form yet.
include(CMakePackageConfigHelpers)
set(PROCTOR_CONFIG_EXECUTABLE "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/proctor")
set(PROCTOR_CONFIG_CMAKE_DIR "${PROJECT_SOURCE_DIR}/cmake")
set(PROCTOR_CONFIG_GTEST_LISTENER "${PROJECT_SOURCE_DIR}/harness/plan/gtest/proctor_gtest_listener.cc")
configure_file(cmake/ProctorConfig.cmake.in "${PROJECT_BINARY_DIR}/ProctorConfig.cmake" @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ProctorConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
