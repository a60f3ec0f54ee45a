# proctor_spirv(NAME source.cl [OPTIONS ...] [TRANSLATE ...] [VERSION v] [UNVALIDATED])
#
# Compiles OpenCL C to SPIR-V (1.0, or v where the kernel needs it): NAME.spv lies in build/bin/kernels, where the
# suites look for it. OPTIONS go to clang (-O0, -DTILE=8, -cl-std=CL3.0), TRANSLATE to llvm-spirv (--spirv-ext=+NAME).
# UNVALIDATED: the module uses an extension that the spirv-val of Debian 12 does not know.
# The target is named NAME_spv and is part of the default build; proctor_spirv_dependencies(TARGET) makes TARGET wait
# for every module declared so far. The directory's property proctor_kernels lists what it compiles.
#
# The pair clang-N + llvm-spirv-N with the largest N present is used, and spirv-val judges what it makes. Without
# them no module is built, configuration says so, and the suites skip with spirv_missing:NAME.

option(PROCTOR_SPIRV "Compile the device kernels to SPIR-V when clang-N and llvm-spirv-N are present" ON)
set(PROCTOR_KERNEL_DIRECTORY ${PROJECT_BINARY_DIR}/bin/kernels)
set_property(GLOBAL PROPERTY proctor_spirv_targets "")

function(proctor_find_spirv_compilers)
  foreach(version RANGE 22 14 -1)
    find_program(PROCTOR_CLANG_${version} clang-${version})
    find_program(PROCTOR_LLVM_SPIRV_${version} llvm-spirv-${version})
    mark_as_advanced(PROCTOR_CLANG_${version} PROCTOR_LLVM_SPIRV_${version})
    if(PROCTOR_CLANG_${version} AND PROCTOR_LLVM_SPIRV_${version})
      set(PROCTOR_SPIRV_VERSION ${version} CACHE INTERNAL "LLVM version of the kernel compilers")
      message(STATUS "Device kernels: clang-${version}, llvm-spirv-${version}")
      return()
    endif()
  endforeach()
  set(PROCTOR_SPIRV_VERSION 0 CACHE INTERNAL "LLVM version of the kernel compilers")
  message(STATUS "Device kernels: not built, no pair of clang-N and llvm-spirv-N is installed")
endfunction()

if(PROCTOR_SPIRV)
  proctor_find_spirv_compilers()
  find_program(PROCTOR_SPIRV_VAL spirv-val)
  if(NOT PROCTOR_SPIRV_VAL)
    message(STATUS "Device kernels: not validated, spirv-val is not installed")
  endif()
  find_program(PROCTOR_SPIRV_AS spirv-as)
  mark_as_advanced(PROCTOR_SPIRV_AS)
  if(NOT PROCTOR_SPIRV_AS)
    message(STATUS "Device kernels: none in assembly, spirv-as is not installed")
  endif()
else()
  set(PROCTOR_SPIRV_VERSION 0 CACHE INTERNAL "LLVM version of the kernel compilers")
endif()

function(proctor_spirv name source)
  if(NOT PROCTOR_SPIRV_VERSION)
    return()
  endif()
  cmake_parse_arguments(arg "UNVALIDATED" "VERSION" "OPTIONS;TRANSLATE" ${ARGN})
  if(NOT arg_VERSION)
    set(arg_VERSION 1.0)
  endif()
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(bitcode ${CMAKE_CURRENT_BINARY_DIR}/${name}.bc)
  set(module ${PROCTOR_KERNEL_DIRECTORY}/${name}.spv)
  set(version ${PROCTOR_SPIRV_VERSION})

  set(pointers "")
  if(version EQUAL 15)  # its translator reads typed pointers only; 14 knows no others, later ones read both
    set(pointers -Xclang -no-opaque-pointers)
  endif()
  # Lifetime markers give loops an exit block that stands before the block that dominates it, which SPIR-V forbids and
  # llvm-spirv-15 does not mend.
  set(ordered -Xclang -disable-lifetime-markers)
  set(validate "")
  if(PROCTOR_SPIRV_VAL AND NOT arg_UNVALIDATED)
    set(validate COMMAND ${PROCTOR_SPIRV_VAL} ${module})
  endif()
  add_custom_command(
    OUTPUT ${module}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROCTOR_KERNEL_DIRECTORY}
    COMMAND ${PROCTOR_CLANG_${version}} -target spirv64 -x cl -cl-std=CL2.0 -Xclang -finclude-default-header -O2
            -Wall -Werror -I${PROJECT_SOURCE_DIR} ${pointers} ${ordered} ${arg_OPTIONS}
            -MD -MF ${bitcode}.d -MT ${module}
            -emit-llvm -c ${source} -o ${bitcode}
    COMMAND ${PROCTOR_LLVM_SPIRV_${version}} --spirv-max-version=${arg_VERSION} ${arg_TRANSLATE} ${bitcode} -o ${module}
    ${validate}
    DEPENDS ${source}
    DEPFILE ${bitcode}.d
    BYPRODUCTS ${bitcode}
    COMMENT "Compiling ${name}.spv"
    VERBATIM)
  proctor_spirv_module(${name} ${module})
endfunction()

function(proctor_spirv_module name module)
  add_custom_target(${name}_spv ALL DEPENDS ${module})
  set_property(DIRECTORY APPEND PROPERTY proctor_kernels ${module})
  set_property(GLOBAL APPEND PROPERTY proctor_spirv_targets ${name}_spv)
endfunction()

function(proctor_spirv_dependencies target)
  get_property(modules GLOBAL PROPERTY proctor_spirv_targets)
  if(modules)
    add_dependencies(${target} ${modules})
  endif()
endfunction()

# proctor_spirv_assembly(NAME VERSION [SOURCE source.spvasm] [OPTIONS ...])
#
# The same for NAME.spvasm, or for SOURCE: a module in SPIR-V's own language that the preprocessor of C has expanded with OPTIONS
# (-DCARRY), of instructions that no compiler makes of a kernel. It takes spirv-as.
function(proctor_spirv_assembly name version)
  if(NOT PROCTOR_SPIRV_VERSION OR NOT PROCTOR_SPIRV_AS)
    return()
  endif()
  cmake_parse_arguments(arg "" "SOURCE" "OPTIONS" ${ARGN})
  if(NOT arg_SOURCE)
    set(arg_SOURCE ${name}.spvasm)
  endif()
  cmake_path(ABSOLUTE_PATH arg_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE source)
  set(text ${CMAKE_CURRENT_BINARY_DIR}/${name}.spvasm)
  set(module ${PROCTOR_KERNEL_DIRECTORY}/${name}.spv)
  set(validate "")
  if(PROCTOR_SPIRV_VAL)
    set(validate COMMAND ${PROCTOR_SPIRV_VAL} --target-env spv${version} ${module})
  endif()
  add_custom_command(
    OUTPUT ${module}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROCTOR_KERNEL_DIRECTORY}
    COMMAND ${PROCTOR_CLANG_${PROCTOR_SPIRV_VERSION}} -E -P -x assembler-with-cpp -I${PROJECT_SOURCE_DIR}
            ${arg_OPTIONS} -MD -MF ${text}.d -MT ${module} ${source} -o ${text}
    COMMAND ${PROCTOR_SPIRV_AS} --target-env spv${version} --preserve-numeric-ids ${text} -o ${module}
    ${validate}
    DEPENDS ${source}
    DEPFILE ${text}.d
    BYPRODUCTS ${text}
    COMMENT "Assembling ${name}.spv"
    VERBATIM)
  proctor_spirv_module(${name} ${module})
endfunction()
