# proctor_commit_header(TARGET): before TARGET is compiled, generates commit.h, which defines PROCTOR_COMMIT: what git
# says is checked out ("1a2b3c4d5e6f", "-dirty" after it when files differ), "" where nobody knows. PROCTOR_COMMIT, when set
# at configure, is believed instead: for sources without their repository.
# Also the script that generates it: cmake -D SOURCE=... -D OUT=... -D COMMIT=... -P ProctorCommit.cmake
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # A repository that merely contains the sources is not theirs.
  if(COMMIT STREQUAL "" AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND git -C "${SOURCE}" describe --always --abbrev=12 --exclude=* --dirty
                    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  file(CONFIGURE OUTPUT "${OUT}" CONTENT "#define PROCTOR_COMMIT \"${COMMIT}\"\n") # untouched when it is the same
  return()
endif()

set(PROCTOR_COMMIT "" CACHE STRING "Commit of the sources, where git cannot say")
set(_PROCTOR_COMMIT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(proctor_commit_header target)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/commit")
  add_custom_target(${target}_commit
    COMMAND ${CMAKE_COMMAND} -D "SOURCE=${PROJECT_SOURCE_DIR}" -D "OUT=${directory}/commit.h"
            -D "COMMIT=${PROCTOR_COMMIT}" -P "${_PROCTOR_COMMIT_SCRIPT}"
    BYPRODUCTS "${directory}/commit.h"
    VERBATIM)
  add_dependencies(${target} ${target}_commit)
  target_include_directories(${target} PRIVATE "${directory}")
endfunction()
