#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include "harness/plan/testdata/mixture.h"

#define MIXTURE_CASE(name, number) \
  TEST_CASE(name) { REQUIRE(mixture::act(number)); }
#include "harness/plan/testdata/mixture_cases.inc"
