# proctor_fmt: the distribution's fmt as a static library. The runner is static, and Debian's package has only a shared
# library; header-only, every source that formats would compile all of fmt again, a third of its time.

if(fmt_VERSION VERSION_LESS 11)
  add_library(proctor_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
  target_link_libraries(proctor_fmt PUBLIC proctor_options)
  set_target_properties(proctor_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)  # goes into simulated drivers
else()  # what fmt.cc instantiates is named otherwise there
  add_library(proctor_fmt INTERFACE)
  target_link_libraries(proctor_fmt INTERFACE fmt::fmt-header-only)
endif()
