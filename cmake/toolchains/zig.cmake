# A toolchain that set_up.sh made: PROCTOR_TOOLCHAIN is its directory, PROCTOR_TARGET one of its targets.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PROCTOR_TOOLCHAIN PROCTOR_TARGET)
string(REGEX MATCH "^[^-]+" processor "${PROCTOR_TARGET}")
cmake_host_system_information(RESULT host QUERY OS_PLATFORM)
if(NOT processor STREQUAL host)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${processor})
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${processor}-static)
endif()

set(CMAKE_CXX_COMPILER "${PROCTOR_TOOLCHAIN}/${PROCTOR_TARGET}/c++")
set(CMAKE_C_COMPILER "${PROCTOR_TOOLCHAIN}/${PROCTOR_TARGET}/cc")
set(CMAKE_AR "${PROCTOR_TOOLCHAIN}/${PROCTOR_TARGET}/ar")
set(CMAKE_CXX_COMPILER_AR "${CMAKE_AR}")
set(CMAKE_RANLIB "${PROCTOR_TOOLCHAIN}/${PROCTOR_TARGET}/ranlib")
set(CMAKE_CXX_COMPILER_RANLIB "${CMAKE_RANLIB}")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${PROCTOR_TOOLCHAIN}/include")
# Stripped by the linker: this system's strip may not know the processor.
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,-s")
endforeach()
if(PROCTOR_TARGET MATCHES "musl$")
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -static")  # what is tested too
endif()
