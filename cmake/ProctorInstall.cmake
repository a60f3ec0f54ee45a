# What `cmake --install` puts where, by component (docs/how-to/packages.md):
#
#   runner       proctor, its guard, man page, completion of shells, pytest plugin, schemas, runner hooks, documents
#   suites       device probes, conformance suites, their device code
#   simulator    drivers of simulated devices
#   loader       Level Zero's loader, where cmake/package/make.sh built one
#   development  what find_package(Proctor) finds, the child protocol, the GoogleTest listener
#
# All programs lie in one directory, as in the build tree: each finds the others beside itself, and nothing holds a
# path, so that the prefix can be moved. bin/proctor is a link. Included last, when all targets are known; what a build
# leaves out (no CUDA toolkit, no kernel compilers) is left out here.

set(PROCTOR_COMPONENTS runner suites simulator development)
foreach(component IN LISTS PROCTOR_COMPONENTS)
  add_custom_target(component_${component})  # builds what is installed of it
endforeach()
add_custom_target(run_needs)  # what `./dev run` runs, without tests
add_dependencies(run_needs component_runner component_suites component_simulator)

set(PROCTOR_INSTALL_PROGRAMS ${CMAKE_INSTALL_LIBEXECDIR}/proctor)
set(PROCTOR_INSTALL_SHARE ${CMAKE_INSTALL_DATADIR}/proctor)
set(PROCTOR_INSTALL_CMAKE ${CMAKE_INSTALL_DATADIR}/cmake/Proctor)

function(proctor_install_target component target directory)
  if(NOT TARGET ${target})
    return()
  endif()
  add_dependencies(component_${component} ${target})
  install(TARGETS ${target} COMPONENT ${component} RUNTIME DESTINATION ${directory} LIBRARY DESTINATION ${directory})
endfunction()

function(proctor_install_share component directory)
  install(FILES ${ARGN} COMPONENT ${component} DESTINATION ${PROCTOR_INSTALL_SHARE}/${directory})
endfunction()

# ---- runner ----

foreach(target proctor proctor-guard)
  proctor_install_target(runner ${target} ${PROCTOR_INSTALL_PROGRAMS})
endforeach()
file(RELATIVE_PATH program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}/proctor/proctor)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/link)
file(CREATE_LINK ${program} ${PROJECT_BINARY_DIR}/link/proctor SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/link/proctor COMPONENT runner DESTINATION ${CMAKE_INSTALL_BINDIR})

proctor_install_share(runner pytest harness/frameworks/pytest/proctor_pytest.py)
proctor_install_share(runner schema
  reports/schema/ctrf.schema.json
  reports/schema/gate.schema.json
  reports/schema/junit-extended.xsd
  reports/schema/junit-portable.xsd
  reports/schema/junit-strict.xsd
  reports/schema/junit-types.xsd
  reports/schema/report.schema.json
  reports/schema/selftest.schema.json)
proctor_install_share(runner . docker/seccomp.json)
file(GLOB hooks CONFIGURE_DEPENDS .github/runner-hooks/*.sh)
list(FILTER hooks EXCLUDE REGEX "/job-[a-z]+\\.sh$")
proctor_install_share(runner runner-hooks ${hooks})
# Those that a runner of GitHub starts.
install(PROGRAMS .github/runner-hooks/job-started.sh .github/runner-hooks/job-completed.sh COMPONENT runner
  DESTINATION ${PROCTOR_INSTALL_SHARE}/runner-hooks)
install(FILES LICENSE README.md CHANGELOG.md COMPONENT runner DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(folder . tutorials how-to reference reference/frameworks explanation)
  file(GLOB documents CONFIGURE_DEPENDS docs/${folder}/*.md)
  install(FILES ${documents} COMPONENT runner DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/${folder})
endforeach()
if(TARGET proctor_manual)
  add_dependencies(component_runner proctor_manual)
  install(FILES ${PROJECT_BINARY_DIR}/manual/proctor.1 COMPONENT runner DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  proctor_install_share(runner schema ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/share/proctor/schema/proctor.schema.json)
endif()
install(FILES harness/cli/completion/proctor.bash COMPONENT runner
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME proctor)
install(FILES harness/cli/completion/_proctor COMPONENT runner DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES harness/cli/completion/proctor.fish COMPONENT runner
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# What is compiled into the programs, under its own licences: as the distribution that it comes from states them. A list of
# each build says in which versions, a line "NAME VERSION KIND" each, for the SBOM of the image (cmake/package/sbom/sbom.py).
string(REGEX MATCH "^[0-9]+" gcc ${CMAKE_CXX_COMPILER_VERSION})
set(libc libc6-dev musl-dev)  # the guard's
if(PROCTOR_TOOLCHAIN)
  set(libc "")
endif()
set(compiled_in "")
foreach(package libboost1.81-dev libboost-dev libcli11-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev libkainjow-mustache-dev
        libpugixml-dev libsqlite3-dev zlib1g-dev googletest libstdc++-${gcc}-dev ${libc})
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright COMPONENT runner
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME ${package}.txt)
    execute_process(COMMAND dpkg-query --show --showformat "\${Package} \${Version} deb\\n" ${package}
      OUTPUT_VARIABLE line COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND compiled_in ${line})
  endif()
endforeach()
# The toolchain's C++ library is linked statically, and into the runner its C library too. Two builds may install these.
set(component runner)
if(PROCTOR_TOOLCHAIN)
  file(GLOB licences ${PROCTOR_TOOLCHAIN}/zig/ziglang-*.dist-info/licenses/ziglang/lib)
  string(REGEX REPLACE ".*/ziglang-(.*)\\.dist-info/.*" "\\1" zig "${licences}")
  if(PROCTOR_TARGET MATCHES "musl$")
    install(FILES ${licences}/libc/musl/COPYRIGHT COMPONENT runner
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME musl.txt)
    string(APPEND compiled_in "musl ${zig} pypi/ziglang\n")
  else()
    set(component suites)
  endif()
  foreach(library libcxx libcxxabi libunwind)
    install(FILES ${licences}/${library}/LICENSE.TXT COMPONENT ${component}
      DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME ${library}-${PROCTOR_TARGET}.txt)
    string(APPEND compiled_in "${library}-${PROCTOR_TARGET} ${zig} pypi/ziglang\n")
  endforeach()
endif()
file(WRITE ${PROJECT_BINARY_DIR}/third_party_versions.txt "${compiled_in}")
install(FILES ${PROJECT_BINARY_DIR}/third_party_versions.txt COMPONENT ${component}
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party RENAME versions-${component}.txt)

# ---- suites ----

foreach(vendor xpu cuda cuda12)
  foreach(program proctor-probe- health_ visibility_ memory_ kernels_ management_ collectives_)
    proctor_install_target(suites ${program}${vendor} ${PROCTOR_INSTALL_PROGRAMS})
  endforeach()
endforeach()
foreach(target collectives_host proctor_gloo proctor_oneccl proctor_nccl)
  proctor_install_target(suites ${target} ${PROCTOR_INSTALL_PROGRAMS})
endforeach()
get_property(kernels DIRECTORY suites/kernels/device PROPERTY proctor_kernels)
install(FILES ${kernels} COMPONENT suites DESTINATION ${PROCTOR_INSTALL_PROGRAMS}/kernels)
proctor_install_share(suites "" suites/known_failures_intel.toml suites/selftest_exemptions.toml suites/rules.toml)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/suites_version CONTENT "${PROJECT_VERSION}\n")
install(FILES ${PROJECT_BINARY_DIR}/suites_version COMPONENT suites DESTINATION ${PROCTOR_INSTALL_SHARE})

# ---- simulator ----

foreach(target proctor_ze_sim proctor_collective_faults)
  proctor_install_target(simulator ${target} ${PROCTOR_INSTALL_PROGRAMS})
endforeach()
foreach(stand_in proctor_cudart_sim proctor_cudart12_sim proctor_nvml_sim)
  proctor_install_target(simulator ${stand_in} ${PROCTOR_INSTALL_PROGRAMS}/cuda_sim)
endforeach()

# ---- loader ----

install(PROGRAMS ${PROJECT_BINARY_DIR}/level_zero/libze_loader.so.1 COMPONENT loader OPTIONAL
  DESTINATION ${PROCTOR_INSTALL_PROGRAMS}/level_zero)
install(FILES ${PROJECT_BINARY_DIR}/level_zero/level-zero.txt ${PROJECT_BINARY_DIR}/level_zero/versions-loader.txt
  COMPONENT loader OPTIONAL
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party)

# ---- development ----

install(FILES harness/journal/child_protocol.h COMPONENT development DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/proctor)
proctor_install_share(development gtest harness/frameworks/gtest/proctor_gtest_listener.cc)
install(FILES
  cmake/ProctorCTest.cmake
  cmake/ProctorConformance.cmake
  cmake/ProctorDiscover.cmake
  ${PROJECT_BINARY_DIR}/installed/ProctorConfig.cmake
  ${PROJECT_BINARY_DIR}/ProctorConfigVersion.cmake
  COMPONENT development DESTINATION ${PROCTOR_INSTALL_CMAKE})
