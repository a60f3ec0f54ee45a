# What reports need beside the header-only libraries, as static archives, since the runner is static: proctor_sqlite,
# proctor_zlib, proctor_pugixml. The distribution has them for its own C library. For another one they are compiled from its
# sources, which cmake/toolchains/set_up.sh fetches.

function(proctor_archive name archive header)
  # A toolchain does not know where Debian has the libraries of its processor.
  find_library(${name}_ARCHIVE NAMES ${archive} PATHS /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu REQUIRED)
  find_path(${name}_HEADERS NAMES ${header} REQUIRED)
  mark_as_advanced(${name}_ARCHIVE ${name}_HEADERS)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE ${${name}_ARCHIVE})
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_HEADERS})
endfunction()

function(proctor_from_sources name directory)
  file(GLOB sources ${PROCTOR_TOOLCHAIN}/sources/${directory}/*.c ${PROCTOR_TOOLCHAIN}/sources/${directory}/*.cpp)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC ${PROCTOR_TOOLCHAIN}/sources/${directory})
  target_compile_options(${name} PRIVATE -w)
endfunction()

if(CMAKE_CROSSCOMPILING OR PROCTOR_TARGET MATCHES "musl$")
  enable_language(C)
  proctor_from_sources(proctor_sqlite sqlite)
  proctor_from_sources(proctor_zlib zlib)
  proctor_from_sources(proctor_pugixml pugixml)
  target_compile_definitions(proctor_sqlite PRIVATE SQLITE_OMIT_LOAD_EXTENSION)
  target_compile_definitions(proctor_zlib PRIVATE HAVE_UNISTD_H)
  target_link_libraries(proctor_sqlite PUBLIC Threads::Threads)
else()
  proctor_archive(proctor_sqlite libsqlite3.a sqlite3.h)
  proctor_archive(proctor_zlib libz.a zlib.h)
  proctor_archive(proctor_pugixml libpugixml.a pugixml.hpp)
  target_link_libraries(proctor_sqlite INTERFACE Threads::Threads m)
endif()

# A header, to which a toolchain for another C library has a link.
find_path(PROCTOR_MUSTACHE_HEADERS kainjow/mustache.hpp HINTS ${PROCTOR_TOOLCHAIN}/include)
if(NOT PROCTOR_MUSTACHE_HEADERS)
  message(FATAL_ERROR "kainjow/mustache.hpp is not here: Debian's package is libkainjow-mustache-dev")
endif()
mark_as_advanced(PROCTOR_MUSTACHE_HEADERS)
add_library(proctor_mustache INTERFACE)
target_include_directories(proctor_mustache SYSTEM INTERFACE ${PROCTOR_MUSTACHE_HEADERS})
