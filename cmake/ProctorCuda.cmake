# The CUDA toolkit, where there is one: PROCTOR_CUDA_FOUND says so, and configuration says what is left out without it.
# Programs use the shared runtime (CUDA::cudart), so that the simulated one can stand in its place.
#
# proctor_fatbin(NAME source.cl [ARCHITECTURE 75] [OPTIONS ...])
#
# Compiles a device kernel that is written in the common subset (suites/kernels/device/portable.h) to
# build/bin/kernels/NAME.fatbin, with code for each of CMAKE_CUDA_ARCHITECTURES, or for
# ARCHITECTURE alone. OPTIONS go to nvcc. The target is named
# NAME_fatbin and is part of the default build; proctor_fatbin_dependencies(TARGET) makes TARGET wait for every fatbin
# declared so far. The directory's property proctor_kernels lists what it compiles.

option(PROCTOR_CUDA "Build what needs the CUDA toolkit when nvcc is found" ON)
set(PROCTOR_CUDA_FOUND FALSE)
set_property(GLOBAL PROPERTY proctor_fatbin_targets "")

if(PROCTOR_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Code for the three generations in use, and an image that every newer card can compile for itself.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 75-virtual CACHE STRING "CUDA architectures")
    endif()
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(PROCTOR_CUDA_FOUND TRUE)
    message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  else()
    message(STATUS "CUDA: no nvcc found, so the suites for CUDA and the simulated CUDA Runtime are not built")
  endif()
else()
  message(STATUS "CUDA: PROCTOR_CUDA is off, so the suites for CUDA and the simulated CUDA Runtime are not built")
endif()

# "80-real", "75-virtual", "90" as nvcc's own flags.
function(proctor_cuda_code_flags result)
  set(flags "")
  foreach(architecture ${CMAKE_CUDA_ARCHITECTURES})
    string(REGEX MATCH "^([0-9]+[a-z]?)(-real|-virtual)?$" matched ${architecture})
    if(NOT matched)
      message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES: '${architecture}' is not of the form 80, 80-real or 80-virtual")
    endif()
    set(number ${CMAKE_MATCH_1})
    set(kind "${CMAKE_MATCH_2}")
    if(NOT kind STREQUAL "-virtual")
      list(APPEND flags -gencode arch=compute_${number},code=sm_${number})
    endif()
    if(NOT kind STREQUAL "-real")
      list(APPEND flags -gencode arch=compute_${number},code=compute_${number})
    endif()
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

function(proctor_fatbin name source)
  if(NOT PROCTOR_CUDA_FOUND)
    return()
  endif()
  cmake_parse_arguments(arg "" "ARCHITECTURE" "OPTIONS" ${ARGN})
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(fatbin ${PROCTOR_KERNEL_DIRECTORY}/${name}.fatbin)
  set(depfile ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin.d)
  if(arg_ARCHITECTURE)
    set(code -gencode arch=compute_${arg_ARCHITECTURE},code=sm_${arg_ARCHITECTURE})
  else()
    proctor_cuda_code_flags(code)
  endif()
  add_custom_command(
    OUTPUT ${fatbin}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROCTOR_KERNEL_DIRECTORY}
    COMMAND ${CMAKE_CUDA_COMPILER} -fatbin -x cu -std=c++17 ${code} -Werror all-warnings -I${PROJECT_SOURCE_DIR}
            ${arg_OPTIONS} -MD -MF ${depfile} -MT ${fatbin} ${source} -o ${fatbin}
    DEPENDS ${source}
    DEPFILE ${depfile}
    COMMENT "Compiling ${name}.fatbin"
    VERBATIM)
  add_custom_target(${name}_fatbin ALL DEPENDS ${fatbin})
  set_property(DIRECTORY APPEND PROPERTY proctor_kernels ${fatbin})
  set_property(GLOBAL APPEND PROPERTY proctor_fatbin_targets ${name}_fatbin)
endfunction()

function(proctor_fatbin_dependencies target)
  get_property(modules GLOBAL PROPERTY proctor_fatbin_targets)
  if(modules)
    add_dependencies(${target} ${modules})
  endif()
endfunction()
