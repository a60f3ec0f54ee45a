# `./dev package`: a .tar.gz whose directory can lie anywhere, and Debian packages, one a component
# (docs/how-to/packages.md). Everything that is installed is built by the target `installed`; cpack then builds nothing.
set(PROCTOR_PACKAGE_CONTACT "Proctor maintainers <maintainers@proctor.invalid>" CACHE STRING "Whom packages name")

set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
add_custom_target(installed)
foreach(component IN LISTS PROCTOR_COMPONENTS)
  add_dependencies(installed component_${component})
endforeach()

set(CPACK_PACKAGE_NAME proctor)
set(CPACK_PACKAGE_VENDOR "the Proctor project")
set(CPACK_PACKAGE_CONTACT "${PROCTOR_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_FILE_NAME proctor-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL ${PROCTOR_COMPONENTS})
foreach(component IN LISTS PROCTOR_COMPONENTS)  # of which one build tree may have some, another the rest (dev)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENTS_${upper} ${component})
endforeach()
if(NOT CMAKE_CROSSCOMPILING)  # else the linker did it: this system's strip may not know the processor
  set(CPACK_STRIP_FILES ON)
endif()
set(CPACK_GENERATOR TGZ)

# ---- Debian ----

# What this build was linked with is the oldest that is promised to do: no question to dpkg-shlibdeps, which would find
# the packages of this machine's CUDA toolkit. libze1 was called level-zero by others.
string(REGEX MATCH "^[0-9]+" gcc ${CMAKE_CXX_COMPILER_VERSION})
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -E -dM -include features.h -x c++ /dev/null OUTPUT_VARIABLE macros)
string(REGEX MATCH "define __GLIBC__ ([0-9]+)" matched "${macros}")
set(glibc ${CMAKE_MATCH_1})
string(REGEX MATCH "define __GLIBC_MINOR__ ([0-9]+)" matched "${macros}")
set(glibc ${glibc}.${CMAKE_MATCH_1})
set(libraries "libc6 (>= ${glibc})")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # the other compiler links its own library statically
  string(APPEND libraries ", libgcc-s1, libstdc++6 (>= ${gcc})")
endif()
set(same_runner "proctor (= ${PROJECT_VERSION})")
set(loader "libze1 | level-zero")

if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS
  ${PROJECT_SOURCE_DIR}/cmake/package/installation.cmake ${PROJECT_SOURCE_DIR}/cmake/package/debian.cmake)
set(CPACK_PROCTOR_SOURCE_DIR ${PROJECT_SOURCE_DIR})  # for that script

set(CPACK_DEBIAN_RUNNER_PACKAGE_NAME proctor)
set(CPACK_DEBIAN_RUNNER_PACKAGE_RECOMMENDS "proctor-suites, proctor-simulator")
set(CPACK_DEBIAN_RUNNER_PACKAGE_SUGGESTS "proctor-dev")
set(CPACK_COMPONENT_RUNNER_DESCRIPTION "test runner for accelerator hardware
Runs tests of GPUs, or any command, as contained subprocesses with enforced
time limits, exclusive devices, exactly one outcome each, and reports that
survive whatever ends the run.")

set(CPACK_DEBIAN_SUITES_PACKAGE_NAME proctor-suites)
set(CPACK_DEBIAN_SUITES_PACKAGE_DEPENDS "${same_runner}, ${libraries}")
set(CPACK_DEBIAN_SUITES_PACKAGE_RECOMMENDS "${loader}")
set(CPACK_DEBIAN_SUITES_PACKAGE_SUGGESTS "cuda-cudart-13-0 | cuda-cudart-12-9, libgloo0")
set(CPACK_COMPONENT_SUITES_DESCRIPTION "device probes and conformance suites for Proctor
Checks of what drivers of Intel and NVIDIA GPUs do: visibility, memory,
kernels, management, collectives; and the probes by which the runner finds
devices.")

set(CPACK_DEBIAN_SIMULATOR_PACKAGE_NAME proctor-simulator)
set(CPACK_DEBIAN_SIMULATOR_PACKAGE_DEPENDS "proctor-suites (= ${PROJECT_VERSION}), ${libraries}")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  string(APPEND CPACK_DEBIAN_SIMULATOR_PACKAGE_DEPENDS ", ${loader}")
else()  # Debian has the loader for no other: the package could not be installed
  set(CPACK_DEBIAN_SIMULATOR_PACKAGE_RECOMMENDS "${loader}")
endif()
set(CPACK_COMPONENT_SIMULATOR_DESCRIPTION "simulated devices for Proctor
Drivers of simulated Intel and NVIDIA GPUs that execute real kernels below
the vendors' interfaces, with faults on demand.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME proctor-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${same_runner}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cmake (>= 3.25)")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "CMake functions and protocol header of Proctor
find_package(Proctor) for projects whose tests run under Proctor, the header
of the child protocol, and a listener for GoogleTest.")

include(CPack)
