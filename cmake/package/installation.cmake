# Run by cpack before it makes a package: writes how Proctor was installed, for `proctor --version`.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
if(CPACK_GENERATOR STREQUAL DEB)
  file(WRITE "${root}/runner/usr/share/proctor/installation" "Debian package\n")
else()
  file(WRITE "${root}/share/proctor/installation" "archive\n")
endif()
