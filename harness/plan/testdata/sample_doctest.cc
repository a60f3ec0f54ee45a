// A doctest program with a test for each situation that its kind must distinguish, including misbehaving
// tests.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

TEST_CASE("passes") { REQUIRE(1 + 1 == 2); }

TEST_SUITE("math") {
  TEST_CASE("in a suite") { CHECK(2 * 2 == 4); }
  TEST_CASE("twice") { CHECK(true); }
}
TEST_SUITE("other") {
  TEST_CASE("twice") { CHECK(true); }
}

TEST_CASE("fails at a place") {
  INFO("while adding");
  std::cout << "said before it failed\n";
  CHECK(1 + 1 == 3);
}

TEST_CASE("throws") { throw std::runtime_error("broken <&> \"here\""); }
TEST_CASE("says fail") { FAIL("no luck"); }

SCENARIO("a scenario") {
  GIVEN("one") {
    WHEN("two") {
      THEN("three") { REQUIRE(true); }
    }
  }
}

TEST_CASE("subcases") {
  SUBCASE("first") { CHECK(true); }
  SUBCASE("second") { CHECK(std::string("got") == "wanted"); }
}

TEST_CASE_TEMPLATE("templates", T, int, std::string) { CHECK(T() == T()); }

TEST_CASE("a, b and [c] \"d\" \\e\\ (f)") { CHECK(true); }

TEST_CASE("may fail" * doctest::may_fail()) { CHECK(false); }
TEST_CASE("should fail" * doctest::should_fail()) { CHECK(false); }
TEST_CASE("should fail and passes" * doctest::should_fail()) { CHECK(true); }
TEST_CASE("expects two failures" * doctest::expected_failures(2)) {
  CHECK(false);
  CHECK(false);
}
TEST_CASE("is skipped" * doctest::skip()) { CHECK(true); }
TEST_CASE("only warns") {
  WARN(1 == 2);
  CHECK(true);
}
TEST_CASE("no assertion") {}

TEST_SUITE("bad") {
  TEST_CASE("crashes") { raise(SIGSEGV); }
  TEST_CASE("aborts") { std::abort(); }
  TEST_CASE("exits") { std::_Exit(0); }
  TEST_CASE("hangs") {
    SUBCASE("in here") {
      while (true) pause();
    }
  }
  TEST_CASE("leaks") {
    if (fork() == 0) {
      setsid();
      while (true) pause();
    }
    CHECK(true);
  }
}
