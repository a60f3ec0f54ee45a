# The CUDA toolkit, where there is one: PROCTOR_CUDA_FOUND says so, and configuration says what is left out without it.
# Programs use the shared runtime (CUDA::cudart), so that the simulated one can stand in its place.
#
# proctor_fatbin(NAME source.cl [ARCHITECTURE 75] [OPTIONS ...])
#
# Compiles a device kernel that is written in the common subset (suites/kernels/device/portable.h) to
# build/bin/kernels/NAME.fatbin, with code for each of CMAKE_CUDA_ARCHITECTURES, or for
# ARCHITECTURE alone. nvcc compresses PTX, and code for devices only if asked: 8.7 MB for a release become 1.6 MB, which
# each driver for CUDA 13 reads. OPTIONS go to nvcc. The target is named
# NAME_fatbin and is part of the default build; proctor_fatbin_dependencies(TARGET) makes TARGET wait for every fatbin
# declared so far. The directory's property proctor_kernels lists what it compiles.
#
# CUDA 12 beside it (PROCTOR_CUDA12_FOUND): the headers and the shared runtime are those of PROCTOR_CUDA12_ROOT, a toolkit or what
# ./dev makes of NVIDIA's packages on PyPI, which have ptxas and no nvcc. The PTX of nvcc 13 is too new for ptxas 12 and
# drivers of 12; so clang, the one that makes the SPIR-V, makes NAME.ptx of the same source, in a version of PTX that each driver of
# 12 knows and compiles for its card, and ptxas judges it. For ARCHITECTURE alone, ptxas makes NAME.cubin of it.

# Code for the cards of this machine that this nvcc knows, such as 90-real.
function(proctor_cuda_cards_here result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE cards ERROR_QUIET RESULT_VARIABLE ignored TIMEOUT 20) # a lost card may block it
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET RESULT_VARIABLE ignored)
  set(found "")
  string(REGEX MATCHALL "[0-9]+[.][0-9]" cards "${cards}")
  foreach(card IN LISTS cards)
    string(REPLACE "." "" number ${card})
    if(known MATCHES "sm_${number}\n")
      list(APPEND found ${number}-real)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${result} ${found} PARENT_SCOPE)
endfunction()

option(PROCTOR_CUDA "Build what needs the CUDA toolkit when nvcc is found" ON)
set(PROCTOR_CUDA_FOUND FALSE)
# What packages and the bundle for a card have: code for each generation, and PTX for those that have none (11.0, and later ones).
set(PROCTOR_RELEASE_ARCHITECTURES 75-real 80-real 90-real 100-real 120-real 90-virtual)
set_property(GLOBAL PROPERTY proctor_fatbin_targets "")

if(PROCTOR_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # A development build has PTX, which each card from 7.5 on compiles, and code for the cards that are here: a driver
    # older than nvcc compiles no PTX of it. Without a card, nvcc compiles each kernel once.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES ${PROCTOR_RELEASE_ARCHITECTURES})
      if(CMAKE_BUILD_TYPE STREQUAL Dev)
        proctor_cuda_cards_here(cards)
        set(CMAKE_CUDA_ARCHITECTURES ${cards} 75-virtual)
      endif()
    endif()
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(PROCTOR_CUDA_FOUND TRUE)
    add_library(proctor_runtime_cuda INTERFACE)
    target_link_libraries(proctor_runtime_cuda INTERFACE CUDA::cudart)
    message(STATUS "CUDA: toolkit ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  else()
    message(STATUS "CUDA: no nvcc found, so the suites for CUDA and the simulated CUDA Runtime are not built")
  endif()
else()
  message(STATUS "CUDA: PROCTOR_CUDA is off, so the suites for CUDA and the simulated CUDA Runtime are not built")
endif()

option(PROCTOR_CUDA12 "Build the suites for CUDA 12 beside those for 13 when it is found" ON)
set(PROCTOR_CUDA12_ROOT ${PROJECT_SOURCE_DIR}/build/cuda12 CACHE PATH "A toolkit of CUDA 12, or its headers, runtime and ptxas")
set(PROCTOR_CUDA12_FOUND FALSE)
if(PROCTOR_CUDA_FOUND AND PROCTOR_CUDA12 AND CUDAToolkit_VERSION_MAJOR GREATER_EQUAL 13)
  find_file(PROCTOR_CUDART12 libcudart.so.12 PATHS ${PROCTOR_CUDA12_ROOT} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  find_program(PROCTOR_PTXAS12 ptxas PATHS ${PROCTOR_CUDA12_ROOT} PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(PROCTOR_CUDART12 PROCTOR_PTXAS12)
  if(PROCTOR_CUDART12 AND EXISTS ${PROCTOR_CUDA12_ROOT}/include/crt/host_defines.h)
    set(PROCTOR_CUDA12_FOUND TRUE)
    get_filename_component(PROCTOR_CUDA12_LIBRARY_DIR ${PROCTOR_CUDART12} DIRECTORY)
    set(PROCTOR_CUDA12_VERSION 12)  # how the names end of what is built for it
    add_library(proctor_cudart12 SHARED IMPORTED GLOBAL)
    set_target_properties(proctor_cudart12 PROPERTIES
      IMPORTED_LOCATION ${PROCTOR_CUDART12}
      INTERFACE_INCLUDE_DIRECTORIES ${PROCTOR_CUDA12_ROOT}/include)
    add_library(proctor_runtime_cuda12 INTERFACE)
    target_link_libraries(proctor_runtime_cuda12 INTERFACE proctor_cudart12)
    message(STATUS "CUDA 12: ${PROCTOR_CUDA12_ROOT}")
    if(NOT (PROCTOR_PTXAS12 AND PROCTOR_SPIRV_VERSION))
      message(STATUS "CUDA 12: no ptxas or no clang, so the kernels for it are not built")
    endif()
  else()
    message(STATUS "CUDA 12: not in ${PROCTOR_CUDA12_ROOT}, so the suites for its runtime are not built (./dev fetches it)")
  endif()
endif()

# "80-real", "75-virtual", "90" as nvcc's own flags.
function(proctor_cuda_code_flags result)
  set(flags "")
  foreach(architecture ${ARGN})
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
    proctor_cuda_code_flags(code ${CMAKE_CUDA_ARCHITECTURES})
  endif()
  add_custom_command(
    OUTPUT ${fatbin}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROCTOR_KERNEL_DIRECTORY}
    COMMAND ${CMAKE_CUDA_COMPILER} -fatbin -x cu -std=c++17 ${code} --compress-mode=size -Werror all-warnings -I${PROJECT_SOURCE_DIR}
            ${arg_OPTIONS} -MD -MF ${depfile} -MT ${fatbin} ${source} -o ${fatbin}
    DEPENDS ${source}
    DEPFILE ${depfile}
    COMMENT "Compiling ${name}.fatbin"
    VERBATIM)
  set(made ${fatbin})
  if(PROCTOR_CUDA12_FOUND AND PROCTOR_PTXAS12 AND PROCTOR_SPIRV_VERSION)
    proctor_ptx(ptx ${name} ${source} "${arg_ARCHITECTURE}" ${arg_OPTIONS})
    list(APPEND made ${ptx})
  endif()
  add_custom_target(${name}_fatbin ALL DEPENDS ${made})
  set_property(DIRECTORY APPEND PROPERTY proctor_kernels ${made})
  set_property(GLOBAL APPEND PROPERTY proctor_fatbin_targets ${name}_fatbin)
endfunction()

# The same for CUDA 12. `options` are nvcc's.
function(proctor_ptx result name source architecture)
  set(options ${ARGN})
  list(TRANSFORM options REPLACE "^-use_fast_math$"
    "-ffast-math;-fcuda-flush-denormals-to-zero;-fcuda-approx-transcendentals")
  set(ptx ${PROCTOR_KERNEL_DIRECTORY}/${name}.ptx)
  set(judged ${ptx})
  set(judge ${PROCTOR_PTXAS12} -arch=sm_75 ${ptx} -o /dev/null)
  if(architecture)
    set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx)
    set(judged ${PROCTOR_KERNEL_DIRECTORY}/${name}.cubin)
    set(judge ${PROCTOR_PTXAS12} -arch=sm_${architecture} ${ptx} -o ${judged})
  endif()
  set(depfile ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx.d)
  # Its header of textures does not suit CUDA 12 before clang 16, and no kernel has any. It also includes a header of
  # cuRAND, which is no part of CUDA 12 here, and no kernel uses cuRAND: an empty file takes its place.
  set(replaced ${PROJECT_BINARY_DIR}/cuda12_headers)
  file(CONFIGURE OUTPUT ${replaced}/curand_mtgp32_kernel.h CONTENT "")
  add_custom_command(
    OUTPUT ${judged}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROCTOR_KERNEL_DIRECTORY}
    COMMAND ${PROCTOR_CLANG_${PROCTOR_SPIRV_VERSION}} -x cuda --cuda-device-only --cuda-gpu-arch=sm_75
            --cuda-path=${PROCTOR_CUDA12_ROOT} -D__CLANG_CUDA_TEXTURE_INTRINSICS_H__ -Wno-unknown-cuda-version
            -std=c++17 -O2 -Wall -Werror -I${replaced} -I${PROJECT_SOURCE_DIR} ${options}
            -MD -MF ${depfile} -MT ${judged} -S ${source} -o ${ptx}
    COMMAND ${judge}
    DEPENDS ${source}
    DEPFILE ${depfile}
    COMMENT "Compiling ${name}.ptx"
    VERBATIM)
  set(${result} ${judged} PARENT_SCOPE)
endfunction()

function(proctor_fatbin_dependencies target)
  get_property(modules GLOBAL PROPERTY proctor_fatbin_targets)
  if(modules)
    add_dependencies(${target} ${modules})
  endif()
endfunction()
