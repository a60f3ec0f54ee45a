# proctor_embed_text(VARIABLE FILE HEADER FUNCTION [PART...])   FILE as a string in the program: generates a source that
#     defines std::string_view proctor::FUNCTION(), which HEADER declares, and puts its path into VARIABLE. {{>NAME}} in it
#     is the PART NAME.html, in one line; a part may have the parts after it.
# Also the script that generates it: cmake -D IN=... -D OUT=... -D HEADER=... -D FUNCTION=... -D PARTS=... -P ProctorEmbed.cmake
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ "${IN}" text)
  foreach(file IN LISTS PARTS)
    file(READ "${file}" part)
    string(REGEX REPLACE "\n *" "" part "${part}")
    get_filename_component(name "${file}" NAME_WE)
    string(REPLACE "{{>${name}}}" "${part}" text "${text}")
  endforeach()
  if(text MATCHES "\\)text\"")
    message(FATAL_ERROR "${IN} contains the end mark of the raw string")
  endif()
  # A compiler need not take more than 64 KiB in one literal; neighbours are joined.
  set(literals "")
  while(NOT text STREQUAL "")
    string(SUBSTRING "${text}" 0 16000 piece)
    string(LENGTH "${piece}" length)
    string(SUBSTRING "${text}" ${length} -1 text)
    string(APPEND literals "R\"text(${piece})text\"\n    ")
  endwhile()
  file(WRITE "${OUT}" "#include \"${HEADER}\"\n\nnamespace proctor {\n\n"
       "std::string_view ${FUNCTION}() {\n  return ${literals};\n}\n\n}  // namespace proctor\n")
  return()
endif()

set(_PROCTOR_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(proctor_embed_text variable file header function)
  get_filename_component(in "${file}" ABSOLUTE)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE parts)
  string(MAKE_C_IDENTIFIER "${file}" stem)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${stem}.cc")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND ${CMAKE_COMMAND} -D "IN=${in}" -D "OUT=${out}" -D "HEADER=${header}" -D "FUNCTION=${function}"
            -D "PARTS=${parts}" -P "${_PROCTOR_EMBED_SCRIPT}"
    DEPENDS "${in}" ${parts} "${_PROCTOR_EMBED_SCRIPT}"
    VERBATIM)
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()
