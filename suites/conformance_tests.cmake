# Our own suites as tests of this build: `ctest --preset conformance` and `ctest --preset conformance-simulated`, each one run
# with one page, and a second run on Intel's driver without hardware. They need only the target run_needs. `./dev test` and the presets of the other tests leave them out, and
# the tests of their fixture, by these labels: conformance, simulated, proctor.run.
include(cmake/ProctorConformance.cmake)
set(PROCTOR_EXECUTABLE ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/proctor)

proctor_add_conformance()

# What `./dev run` runs without an accelerator. A rank of collectives has a card of its own.
set(cards "")
set(backends xpu)
if(TARGET proctor_cudart_sim)
  set(cards ,cuda:4)
  list(APPEND backends cuda)
endif()
set(PROCTOR_ONE_RUN OFF) # the same cases on another driver
proctor_add_conformance(SIMULATED xpu:2x2,driver=intel SUITES visibility TEST_PREFIX simulated-intel.)
unset(PROCTOR_ONE_RUN)
proctor_add_conformance(SIMULATED xpu:2x2${cards} SUITES visibility memory kernels management)
proctor_add_conformance(SIMULATED xpu:4x1${cards} SUITES collectives BACKEND ${backends} none)
