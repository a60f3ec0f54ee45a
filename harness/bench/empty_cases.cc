// 2,000 GoogleTest cases that do nothing: what is left is the price of running them one process each.
#include <gtest/gtest.h>

#include <string>

namespace {

constexpr int kSuites = 20;
constexpr int kCasesPerSuite = 100;

class EmptyCase : public testing::Test {
 public:
  void TestBody() override {}
};

}  // namespace

int main(int argc, char** argv) {
  for (int suite = 0; suite < kSuites; ++suite) {
    for (int test = 0; test < kCasesPerSuite; ++test) {
      testing::RegisterTest(("Suite" + std::to_string(suite)).c_str(),
                            ("Case" + std::to_string(test)).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            []() -> testing::Test* { return new EmptyCase; });
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
