# Language level, warnings and sanitizers: one interface target that every target of ours links.

option(PROCTOR_TESTS "Build the unit tests" ON)
# For a build of everything from nothing: half the time, since headers are read once a batch. After a change it costs
# more, and it does not notice a missing #include, so it is not what developers build.
option(PROCTOR_BATCHED "Compile the sources of a library or a test in batches of eight" OFF)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
# It does not notice a missing #include either.
option(PROCTOR_PRECOMPILED "Compile the standard library's headers once for all libraries" ON)
set(PROCTOR_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Dev: no optimisation, no NDEBUG. The headers are large templates, and compiling is what a developer waits for; what
# must be fast even so (the interpreter, the guard) asks for it itself.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev)
endif()

# With the compilers that the tests use, GCC 12 to 14 without optimisation. A newer one's new warning, or one that
# follows from optimised or instrumented code, stops nobody.
set(tested_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15
    AND CMAKE_BUILD_TYPE STREQUAL Dev AND NOT PROCTOR_SANITIZE)
  set(tested_compiler ON)
endif()
option(PROCTOR_WERROR "Treat warnings as errors" ${tested_compiler})

find_program(PROCTOR_CCACHE ccache)
if(PROCTOR_CCACHE)
  # Without these it compiles anew whatever uses precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PROCTOR_CCACHE})
endif()

# A change of one line is compiled in seconds and linked dozens of times: lld takes a sixth of the default linker's time.
# What is delivered is linked by the default.
if(CMAKE_BUILD_TYPE STREQUAL Dev)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld PROCTOR_HAS_LLD)
  if(PROCTOR_HAS_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# What is delivered. Most of a runner's memory is its own text: so -O2, and each function in a section of its own, so that
# it is linked without those that nothing calls. What must be fast (the interpreter) asked for -O2 before, too.
if(CMAKE_BUILD_TYPE STREQUAL Release)
  string(REPLACE -O3 -O2 CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections>)
endif()

# Everything of ours, also what must stay free of sanitizers: the guard and the misbehaving programs.
add_library(proctor_plain_options INTERFACE)
# Not for what nvcc compiles: its host code is full of line directives that -Wpedantic does not like.
target_compile_options(proctor_plain_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion>)
# g++ 12 sees overlaps in assignments to std::string that there are not (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(proctor_plain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(PROCTOR_BATCHED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it takes a batch for a header
  target_compile_options(proctor_plain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(PROCTOR_WERROR)
  target_compile_options(proctor_plain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
target_include_directories(proctor_plain_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_definitions(proctor_plain_options INTERFACE _GNU_SOURCE)

add_library(proctor_options INTERFACE)
target_link_libraries(proctor_options INTERFACE proctor_plain_options)

if(PROCTOR_SANITIZE)
  target_compile_options(proctor_options INTERFACE -fsanitize=${PROCTOR_SANITIZE} -g1 -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=undefined
                                                   # Checks give calls numbers that no enumerator has.
                                                   -fno-sanitize=enum)
  target_link_options(proctor_options INTERFACE -fsanitize=${PROCTOR_SANITIZE})
  if(PROCTOR_SANITIZE MATCHES thread)
    target_compile_options(proctor_options INTERFACE -Wno-tsan)  # Asio's fences; its loop has one thread here
  endif()
  set(PROCTOR_STATIC OFF)
else()
  set(PROCTOR_STATIC ON)
endif()
