# What reports need beside the header-only libraries, as static archives, since the runner is static: proctor_sqlite,
# proctor_zlib, proctor_pugixml.

function(proctor_archive name archive header)
  find_library(${name}_ARCHIVE NAMES ${archive} REQUIRED)
  find_path(${name}_HEADERS NAMES ${header} REQUIRED)
  mark_as_advanced(${name}_ARCHIVE ${name}_HEADERS)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${${name}_ARCHIVE})
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_HEADERS})
endfunction()

proctor_archive(proctor_sqlite libsqlite3.a sqlite3.h)
proctor_archive(proctor_zlib libz.a zlib.h)
proctor_archive(proctor_pugixml libpugixml.a pugixml.hpp)
target_link_libraries(proctor_sqlite INTERFACE Threads::Threads m)
