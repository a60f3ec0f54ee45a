# Suites of other projects as CTest tests that run under Proctor: contained, with lease, limits and reports.
#
#   find_package(Proctor REQUIRED)
#   proctor_discover_cases(TARGET [BACKEND xpu] [DEVICES 1] [TIMEOUT 90s] [LABELS l...] [OPTIONS option...])
#       Each case of the GoogleTest program TARGET is one test, `TARGET/Suite.Name`. Cases are listed when CTest
#       starts, if the program is newer than the list: a build needs no device for it.
#   proctor_add_suite(NAME COMMAND word... [KIND command|gtest] [BACKEND ...] [DEVICES ...] [TIMEOUT ...]
#                     [LABELS ...] [OPTIONS ...])
#       One test for the whole suite.
#   target_link_libraries(TARGET PRIVATE Proctor::gtest_listener)
#       TARGET tells of its cases as they happen; then they can share a process (docs/gtest.md).
#
# BACKEND without DEVICES means one device per case. OPTIONS go to `proctor run`, e.g. --sim xpu:2x1.
# A case that Proctor skips is skipped for CTest. Several `ctest -j` on one machine share its devices through
# Proctor's leases; a test also claims DEVICES slots of the CTest resource `xpu_gpus` or `cuda_gpus`, for those who give CTest a
# specification (`proctor devices --ctest-resource-spec`), and uses those that CTest allocated.
include_guard(GLOBAL)

set(PROCTOR_SKIP_RETURN_CODE 3) # nothing was executed (docs/outcomes.md)

# A TOML array of strings.
function(_proctor_words out)
  set(words "")
  foreach(word IN LISTS ARGN)
    string(REPLACE "\\" "\\\\" word "${word}")
    string(REPLACE "\"" "\\\"" word "${word}")
    string(APPEND words "\"${word}\", ")
  endforeach()
  set(${out} "[${words}]" PARENT_SCOPE)
endfunction()

# Writes the configuration of one suite at generation time; sets `config` and `properties` for the caller.
macro(_proctor_suite name kind)
  cmake_parse_arguments(arg "" "BACKEND;DEVICES;TIMEOUT;KIND" "COMMAND;LABELS;OPTIONS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}(${name}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(arg_BACKEND AND NOT DEFINED arg_DEVICES)
    set(arg_DEVICES 1)
  endif()
  if(arg_DEVICES AND NOT arg_BACKEND)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}(${name}): DEVICES needs a BACKEND (xpu or cuda)")
  endif()
  _proctor_words(words ${arg_COMMAND})
  set(toml "[suite.${name}]\nkind = \"${kind}\"\ncommand = ${words}\n")
  if(arg_BACKEND)
    string(APPEND toml "backend = \"${arg_BACKEND}\"\ndevices = ${arg_DEVICES}\n")
  endif()
  if(arg_TIMEOUT)
    string(APPEND toml "timeout = \"${arg_TIMEOUT}\"\n")
  endif()
  set(config "${CMAKE_CURRENT_BINARY_DIR}/proctor/${name}.toml")
  file(GENERATE OUTPUT "${config}" CONTENT "${toml}")
  # The limit is Proctor's, which also says what hung; CTest's own would kill Proctor before its reports.
  set(properties SKIP_RETURN_CODE ${PROCTOR_SKIP_RETURN_CODE} TIMEOUT 0)
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  if(arg_DEVICES GREATER 0)
    list(APPEND properties RESOURCE_GROUPS "${arg_DEVICES},${arg_BACKEND}_gpus:1")
  endif()
endmacro()

function(proctor_add_suite name)
  set(kind command)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "KIND" "")
  if(given_KIND)
    set(kind "${given_KIND}")
  endif()
  _proctor_suite("${name}" "${kind}" ${ARGN})
  if(NOT arg_COMMAND)
    message(FATAL_ERROR "proctor_add_suite(${name}): COMMAND is missing")
  endif()
  add_test(NAME "${name}" COMMAND "${PROCTOR_EXECUTABLE}" run "${name}" --config "${config}" ${arg_OPTIONS})
  set_tests_properties("${name}" PROPERTIES ${properties})
endfunction()

function(proctor_discover_cases target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "proctor_discover_cases(${target}): there is no such target")
  endif()
  _proctor_suite("${target}" gtest COMMAND "$<TARGET_FILE:${target}>" ${ARGN})
  set(script "${CMAKE_CURRENT_BINARY_DIR}/proctor/${target}_cases.cmake")
  set(content "")
  foreach(name IN ITEMS PROCTOR_EXECUTABLE target config)
    string(APPEND content "set(${name} [==[${${name}}]==])\n")
  endforeach()
  string(APPEND content "set(program [==[$<TARGET_FILE:${target}>]==])\n")
  string(APPEND content "set(options [==[${arg_OPTIONS}]==])\nset(properties [==[${properties}]==])\n")
  string(APPEND content "include([==[${_PROCTOR_CMAKE_DIR}/ProctorDiscover.cmake]==])\n")
  file(GENERATE OUTPUT "${script}" CONTENT "${content}")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

set(_PROCTOR_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")
