#include "harness/cli/run_test_support.h"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "harness/base/read_file.h"

namespace proctor::cli {
namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Variables that a developer's machine or a CI job may set, and on which a test must not depend.
constexpr const char* kCleared[] = {
    "CI",           "NO_COLOR",    "CLICOLOR_FORCE", "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    "GTEST_FILTER", "GTEST_OUTPUT"};

}  // namespace

void ProctorTest::SetUp() {
  auto root = ScratchRoot::create();
  ASSERT_TRUE(root.ok()) << root.error().what;
  root_ = std::move(*root);
}

std::string ProctorTest::program() { return std::string(PROCTOR_BIN_DIR) + "/proctor"; }

Ended ProctorTest::proctor(const std::vector<std::string>& arguments, const ChildOptions& options) {
  std::vector<std::string> argv = {program()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_child(argv, options);
}

Ended ProctorTest::run_child(const std::vector<std::string>& argv, const ChildOptions& options) {
  ChildOptions all = options;
  all.directory = directory();
  all.env = {std::begin(kCleared), std::end(kCleared)};
  all.env.insert(all.env.end(), {"XDG_RUNTIME_DIR=" + directory(), "XDG_CONFIG_HOME=/nonexistent"});
  all.env.insert(all.env.end(), options.env.begin(), options.env.end());
  return testing_support::run_child(argv, all);
}

void ProctorTest::write(const std::string& name, const std::string& text, bool executable) const {
  std::ofstream(path(name)) << text;
  if (executable) ::chmod(path(name).c_str(), 0755);
}

std::string ProctorTest::read(const std::string& name) const { return read_file_or_empty(path(name)); }

bool ProctorTest::wait_for(const std::string& name, const std::string& text, int times) const {
  for (int i = 0; i < 6000; ++i) {
    if (count(read(name), text) >= times) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace proctor::cli
