# proctor_library(NAME SOURCES... [DEPS ...])   a module of ours
# proctor_test(NAME SOURCES... [DEPS ...])      its unit tests: one GoogleTest binary, one CTest entry per binary
# proctor_fuzz(NAME SOURCES...)                 a libFuzzer program in target `fuzzers`; only where the compiler is clang
# proctor_static(TARGET)                        links statically unless a sanitizer forbids it
# proctor_batched(TARGET)                       its sources share a namespace where PROCTOR_BATCHED is on
# proctor_precompiled(TARGET)                   GoogleTest's headers are compiled once for all targets that say so

function(proctor_library name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC proctor_options ${arg_DEPS})
  proctor_batched(${name})
endfunction()

function(proctor_batched target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PROCTOR_BATCHED})
endfunction()

# More than half of the time to compile a test goes into these headers.
function(proctor_precompiled target)
  if(NOT TARGET proctor_gtest_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/gtest_headers.cc "")
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
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE proctor_options ${arg_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE PROCTOR_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             PROCTOR_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  proctor_precompiled(${name})
  proctor_batched(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

# Everything that is fuzzed is compiled with the fuzzer's instrumentation: the sources, not the library.
function(proctor_fuzz name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  set(instrument -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${name} PRIVATE proctor_plain_options fmt::fmt-header-only)
  target_compile_options(${name} PRIVATE ${instrument} -O1 -g1)
  target_link_options(${name} PRIVATE ${instrument})
  add_dependencies(fuzzers ${name})
endfunction()

function(proctor_static target)
  if(PROCTOR_STATIC)
    target_link_options(${target} PRIVATE -static)
  endif()
endfunction()
