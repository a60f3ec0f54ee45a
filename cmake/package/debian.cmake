# Run by cpack before it makes the packages: what Debian's policy wants in each of them and nobody else does.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, when that is set
set(source "${CPACK_PROCTOR_SOURCE_DIR}/cmake/package")

function(compress file)
  execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share")
  set(documents "${root}/doc/${package}")
  file(REMOVE "${documents}/LICENSE") # copyright says where it is
  configure_file("${source}/copyright" "${documents}/copyright" COPYONLY)
  # No Debian revision: the upstream's version is the package's.
  configure_file("${source}/changelog.in" "${documents}/changelog" @ONLY)
  compress("${documents}/changelog")
  if(EXISTS "${source}/${package}.lintian-overrides")
    configure_file("${source}/${package}.lintian-overrides" "${root}/lintian/overrides/${package}" COPYONLY)
  endif()
  if(EXISTS "${root}/zsh/site-functions") # which zsh of Debian leaves to /usr/local
    file(RENAME "${root}/zsh/site-functions" "${root}/zsh/vendor-completions")
  endif()
  file(GLOB pages "${root}/man/man*/*")
  foreach(page IN LISTS pages)
    compress("${page}")
  endforeach()
endforeach()
