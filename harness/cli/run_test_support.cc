#include "harness/cli/run_test_support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "harness/core/read_file.h"

namespace proctor::cli {
namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

void redirect(const char* path, int flags, int fd) {
  const int opened = ::open(path, flags, 0644);
  if (opened < 0 || ::dup2(opened, fd) < 0) ::_exit(126);
  ::close(opened);
}

// What a run on the developer's machine or in CI would inherit and a test must not depend on.
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
  const std::string out = path(".stdout");
  const std::string err = path(".stderr");
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::chdir(directory().c_str()) != 0) ::_exit(126);
    for (const char* name : kCleared) ::unsetenv(name);
    ::setenv("XDG_RUNTIME_DIR", directory().c_str(), 1);
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    for (const auto& entry : options.env) {
      entry.find('=') == std::string::npos ? ::unsetenv(entry.c_str())
                                           : ::putenv(const_cast<char*>(entry.c_str()));
    }
    redirect("/dev/null", O_RDONLY, 0);
    redirect(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 2);
    if (options.in_child) options.in_child();
    std::vector<char*> words;
    for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  if (options.while_running) options.while_running(pid);
  int status = 0;
  ::waitpid(pid, &status, 0);
  Ended ended;
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = read_file_or_empty(out);
  ended.err = read_file_or_empty(err);
  return ended;
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
