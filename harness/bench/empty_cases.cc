// A program of empty GoogleTest cases, whose run time is the cost of the runner. It has 2,000 cases, or EMPTY_SUITES
// times 100. EMPTY_CRASHES aborts the last case of each suite; EMPTY_CRASHES=last aborts only that of the last suite.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

constexpr int kCasesPerSuite = 100;

int suites() {
  const char* text = std::getenv("EMPTY_SUITES");
  return text != nullptr ? std::atoi(text) : 20;
}

class EmptyCase : public testing::Test {
 public:
  void TestBody() override {}
};

class Crash : public testing::Test {
 public:
  void TestBody() override { std::abort(); }
};

}  // namespace

int main(int argc, char** argv) {
  const char* const crashes = std::getenv("EMPTY_CRASHES");
  for (int suite = 0, count = suites(); suite < count; ++suite) {
    const bool is_last = suite == count - 1;
    const bool crashes_here = crashes != nullptr && (is_last || std::string(crashes) != "last");
    for (int test = 0; test < kCasesPerSuite; ++test) {
      testing::RegisterTest(("Suite" + std::to_string(suite)).c_str(),
                            ("Case" + std::to_string(test)).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [crash = crashes_here && test == kCasesPerSuite - 1]() -> testing::Test* {
                              if (crash) return new Crash;
                              return new EmptyCase;
                            });
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
