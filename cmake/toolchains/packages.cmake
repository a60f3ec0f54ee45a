# find_package for a toolchain of zig.cmake (CMAKE_PROJECT_TOP_LEVEL_INCLUDES): the configurations of this system's
# packages name /usr/include, whose C library is another one. Header-only libraries are where the toolchain has links to
# them, GoogleTest is compiled from the distribution's sources. All else is looked for as ever.
set(PROCTOR_GOOGLETEST_SOURCES /usr/src/googletest CACHE PATH "Sources of GoogleTest")

# Gloo of this system is linked with this system's C and C++ libraries.
set(CMAKE_DISABLE_FIND_PACKAGE_Gloo TRUE)

macro(proctor_provide_package method package)
  if("${package}" STREQUAL Boost)
    proctor_header_package(Boost Boost::headers)
  elseif("${package}" STREQUAL nlohmann_json)
    proctor_header_package(nlohmann_json nlohmann_json::nlohmann_json)
  elseif("${package}" STREQUAL CLI11)
    proctor_header_package(CLI11 CLI11::CLI11)
  elseif("${package}" STREQUAL tomlplusplus)
    proctor_header_package(tomlplusplus tomlplusplus::tomlplusplus)
  elseif("${package}" STREQUAL fmt)
    proctor_header_package(fmt fmt::fmt-header-only)
    target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
    file(STRINGS "${PROCTOR_TOOLCHAIN}/include/fmt/core.h" fmt_VERSION REGEX "define FMT_VERSION ")
    string(REGEX MATCH "[0-9]+$" fmt_VERSION "${fmt_VERSION}")
    math(EXPR fmt_VERSION "${fmt_VERSION} / 10000")
  elseif("${package}" STREQUAL SPIRV-Headers)
    proctor_header_package(SPIRV-Headers SPIRV-Headers::SPIRV-Headers)
    set_target_properties(SPIRV-Headers::SPIRV-Headers
                          PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PROCTOR_TOOLCHAIN}/include")
  elseif("${package}" STREQUAL GTest)
    if(NOT TARGET gtest)
      set(INSTALL_GTEST OFF)
      add_subdirectory(${PROCTOR_GOOGLETEST_SOURCES} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
    endif()
    set(GTest_FOUND TRUE)
  endif()
endmacro()

macro(proctor_header_package package target)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
  endif()
  set(${package}_FOUND TRUE)
endmacro()

cmake_language(SET_DEPENDENCY_PROVIDER proctor_provide_package SUPPORTED_METHODS FIND_PACKAGE)
