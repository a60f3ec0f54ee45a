# proctor_library(NAME [IN_DRIVERS] SOURCES... [DEPS ...])   a module of ours; IN_DRIVERS: it becomes part of simulated drivers too
# proctor_test(NAME [LABEL l] SOURCES... [DEPS ...])   its unit tests: one GoogleTest binary, one CTest entry per case,
#                                               NAME/Suite.Case; the label is `unit`, or PROCTOR_TEST_LABEL of its directory
# proctor_fuzz(NAME SOURCES... [DEPS ...])      a libFuzzer program in target `fuzzers`; only where the compiler is clang
# proctor_static(TARGET)                        links statically unless a sanitizer forbids it
# proctor_batched(TARGET)                       its sources share a namespace where PROCTOR_BATCHED is on
# proctor_precompiled(TARGET)                   GoogleTest's headers are compiled once for all targets that say so
# proctor_driver_code(TARGET)                   is part of a simulated driver: position independent, and optimised in every
#                                               build, since whole suites run on it

set(PROCTOR_TEST_LABEL unit)

function(proctor_library name)
  cmake_parse_arguments(arg "IN_DRIVERS" "" "DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC proctor_options ${arg_DEPS})
  proctor_batched(${name})
  if(arg_IN_DRIVERS)
    proctor_driver_code(${name})
  else()
    proctor_standard_headers(${name} proctor_headers)
  endif()
endfunction()

function(proctor_driver_code target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Dev>:-O1>)
  proctor_standard_headers(${target} proctor_driver_headers)
endfunction()

# Nearly every source reads these, and they are a third of what it takes to compile it. `headers` are those for sources
# that are compiled with the same options.
function(proctor_standard_headers target headers)
  if(NOT PROCTOR_PRECOMPILED)
    return()
  endif()
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${headers}.cc CONTENT "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cc)
    target_link_libraries(${headers} PRIVATE proctor_options proctor_fmt)
    if(headers STREQUAL proctor_driver_headers)
      set_target_properties(${headers} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_compile_options(${headers} PRIVATE $<$<CONFIG:Dev>:-O1>)
    endif()
    target_precompile_headers(${headers} PRIVATE
      <fmt/format.h> <algorithm> <array> <charconv> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional>
      <set> <span> <sstream> <string> <string_view> <utility> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

function(proctor_batched target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PROCTOR_BATCHED})
endfunction()

# More than half of the time to compile a test goes into these headers.
function(proctor_precompiled target)
  if(NOT TARGET proctor_gtest_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gtest_headers.cc CONTENT "")
    add_library(proctor_gtest_headers OBJECT ${PROJECT_BINARY_DIR}/gtest_headers.cc)
    target_link_libraries(proctor_gtest_headers PRIVATE proctor_options GTest::gmock)
    target_precompile_headers(proctor_gtest_headers PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> <algorithm> <array> <chrono> <filesystem> <fstream> <functional> <map> <memory>
      <optional> <span> <sstream> <string> <string_view> <thread> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM proctor_gtest_headers)
endfunction()

function(proctor_test name)
  if(NOT PROCTOR_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "LABEL" "DEPS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL ${PROCTOR_TEST_LABEL})
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE proctor_options ${arg_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE PROCTOR_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             PROCTOR_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  proctor_precompiled(${name})
  proctor_batched(${name})
  # Cases are listed when CTest starts, not after each link. Their names are those in the source.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${name}/
    NO_PRETTY_TYPES NO_PRETTY_VALUES PROPERTIES TIMEOUT 300 LABELS ${arg_LABEL})
endfunction()

# Everything that is fuzzed is compiled with the fuzzer's instrumentation: the sources here, and libraries of ours as
# PROCTOR_SANITIZE of the preset `fuzz` says.
function(proctor_fuzz name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  set(instrument -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE proctor_plain_options fmt::fmt-header-only ${arg_DEPS})
  target_compile_options(${name} PRIVATE ${instrument} -O1 -g1)
  target_link_options(${name} PRIVATE ${instrument})
  add_dependencies(fuzzers ${name})
endfunction()

function(proctor_static target)
  if(PROCTOR_STATIC)
    target_link_options(${target} PRIVATE -static)
  endif()
endfunction()
