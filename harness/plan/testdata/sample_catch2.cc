// A Catch2 program with a test for each situation that its kind must distinguish, including misbehaving
// tests. It is built with Catch2 2 and 3.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#endif

TEST_CASE("passes", "[quick][math]") { REQUIRE(1 + 1 == 2); }

TEST_CASE("fails at a place", "[quick]") {
  INFO("while adding");
  std::cout << "said before it failed\n";
  CHECK(1 + 1 == 3);
}

TEST_CASE("throws", "[quick]") { throw std::runtime_error("broken <&> \"here\""); }

TEST_CASE("says fail") { FAIL("no luck"); }

SCENARIO("a scenario", "[bdd]") {
  GIVEN("one") {
    WHEN("two") {
      THEN("three") { REQUIRE(true); }
    }
  }
}

TEST_CASE("sections") {
  SECTION("first") { CHECK(true); }
  SECTION("second") { CHECK(std::string("got") == "wanted"); }
}

TEST_CASE("generators") {
  const int value = GENERATE(1, 2, 3);
  CHECK(value < 3);
}

TEMPLATE_TEST_CASE("templates", "[math]", int, std::string) { CHECK(TestType() == TestType()); }

TEST_CASE("a, b and [c] \"d\" \\e\\ *") { CHECK(true); }
TEST_CASE("this name is so long that the list of Catch2 2 breaks it into two lines of eighty columns") {
  CHECK(true);
}

TEST_CASE("may fail", "[!mayfail]") { CHECK(false); }
TEST_CASE("should fail", "[!shouldfail]") { CHECK(false); }
TEST_CASE("should fail and passes", "[!shouldfail]") { CHECK(true); }
TEST_CASE("hidden", "[.]") { CHECK(true); }
TEST_CASE("need not hold") { CHECK_NOFAIL(1 == 2); }
TEST_CASE("no assertion") {}

#ifdef CATCH_VERSION_MAJOR
#if CATCH_VERSION_MAJOR >= 3
TEST_CASE("skips") { SKIP("no such device"); }
#endif
#endif

TEST_CASE("measures", "[benchmark]") {
  BENCHMARK("addition") { return 1 + 1; };
}

TEST_CASE("crashes", "[bad]") { raise(SIGSEGV); }
TEST_CASE("aborts", "[bad]") { std::abort(); }
TEST_CASE("exits", "[bad]") { std::_Exit(0); }
TEST_CASE("hangs", "[bad]") {
  SECTION("in here") {
    while (true) pause();
  }
}
TEST_CASE("leaks", "[bad]") {
  if (fork() == 0) {
    setsid();
    while (true) pause();
  }
  CHECK(true);
}
