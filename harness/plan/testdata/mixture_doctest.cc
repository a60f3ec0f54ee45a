#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "harness/plan/testdata/mixture.h"

#define MIXTURE_CASE(name, number) \
  TEST_CASE(name) { REQUIRE(mixture::act(number)); }
#include "harness/plan/testdata/mixture_cases.inc"
