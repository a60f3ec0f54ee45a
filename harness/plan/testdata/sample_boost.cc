// A Boost.Test program with a test for each situation that its kind must distinguish, including misbehaving
// tests.
#define BOOST_TEST_MODULE a sample
#include <unistd.h>

#include <boost/mpl/list.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/included/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace unit = boost::unit_test;

BOOST_AUTO_TEST_CASE(passes) { BOOST_TEST(1 + 1 == 2); }

BOOST_AUTO_TEST_CASE(fails_at_a_place) {
  BOOST_TEST_INFO("while adding");
  BOOST_TEST(1 + 1 == 3);
}

BOOST_AUTO_TEST_CASE(throws) { throw std::runtime_error("broken <&> \"here\" ]]>"); }
BOOST_AUTO_TEST_CASE(says_fail) { BOOST_FAIL("no luck"); }
BOOST_AUTO_TEST_CASE(no_assertion) {}
BOOST_AUTO_TEST_CASE(only_warns) { BOOST_WARN(1 == 2); }

BOOST_AUTO_TEST_CASE(is_disabled, *unit::disabled()) { BOOST_TEST(false); }
boost::test_tools::assertion_result no_device(unit::test_unit_id) {
  boost::test_tools::assertion_result result(false);
  result.message() << "no such device";
  return result;
}
BOOST_AUTO_TEST_CASE(has_a_condition, *unit::precondition(no_device)) { BOOST_TEST(false); }

BOOST_AUTO_TEST_CASE(expects_two_failures, *unit::expected_failures(2)) {
  BOOST_TEST(false);
  BOOST_TEST(false);
}
BOOST_AUTO_TEST_CASE(expects_one_of_two, *unit::expected_failures(1)) {
  BOOST_TEST(false);
  BOOST_TEST(false);
}
BOOST_AUTO_TEST_CASE(expects_one_of_none, *unit::expected_failures(1)) { BOOST_TEST(true); }

BOOST_AUTO_TEST_SUITE(math, *unit::label("quick"))
BOOST_AUTO_TEST_CASE(in_a_suite, *unit::label("small") * unit::description("a \"described\" | one")) {
  BOOST_TEST(2 * 2 == 4);
}
BOOST_DATA_TEST_CASE(data, unit::data::make({1, 2, 3}), number) { BOOST_TEST(number != 2); }
using Types = boost::mpl::list<int, std::string, unsigned char>;
BOOST_AUTO_TEST_CASE_TEMPLATE(templates, T, Types) { BOOST_TEST(T() == T()); }
BOOST_AUTO_TEST_SUITE_END()

// The list contains each test before the test that it depends on.
BOOST_AUTO_TEST_SUITE(chain)
BOOST_AUTO_TEST_CASE(last, *unit::depends_on("chain/middle")) { BOOST_TEST(true); }
BOOST_AUTO_TEST_CASE(middle, *unit::depends_on("passes")) { BOOST_TEST(true); }
BOOST_AUTO_TEST_CASE(of_a_failure, *unit::depends_on("fails_at_a_place")) { BOOST_TEST(true); }
BOOST_AUTO_TEST_CASE(of_a_suite, *unit::depends_on("chain/inner")) { BOOST_TEST(false); }
BOOST_AUTO_TEST_SUITE(inner, *unit::depends_on("math/in_a_suite"))
BOOST_AUTO_TEST_CASE(one) { BOOST_TEST(true); }
BOOST_AUTO_TEST_CASE(two) { BOOST_TEST(true); }
BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(bad)
BOOST_AUTO_TEST_CASE(crashes) { raise(SIGSEGV); }
BOOST_AUTO_TEST_CASE(aborts) { std::abort(); }
BOOST_AUTO_TEST_CASE(exits) { std::_Exit(0); }
BOOST_AUTO_TEST_CASE(hangs) {
  while (true) pause();
}
BOOST_AUTO_TEST_CASE(times_out, *unit::timeout(1)) {
  while (true) pause();
}
BOOST_AUTO_TEST_CASE(leaks) {
  if (fork() == 0) {
    setsid();
    while (true) pause();
  }
  BOOST_TEST(true);
}
BOOST_AUTO_TEST_SUITE_END()

// A fixture that fails before or after the tests, or drops the exit code, depending on SAMPLE_FIXTURE.
struct Fixture {
  static std::string mode() {
    const char* value = std::getenv("SAMPLE_FIXTURE");
    return value == nullptr ? "" : value;
  }
  void setup() {
    if (mode() == "drop_code") std::atexit([] { _exit(0); });
    if (mode() == "setup") throw std::runtime_error("no device for any");
  }
  void teardown() {
    if (mode() == "teardown") BOOST_TEST(false, "something is left");
  }
};
BOOST_TEST_GLOBAL_FIXTURE(Fixture);
