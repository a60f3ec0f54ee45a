// Starts programs for tests. If a program cannot be started, `exit_code` is -1 and `err` contains the error. Example:
//
//   const testing_support::Ended done = testing_support::run_child({"sh", "-c", "echo hello; exit 3"});
//   std::printf("%d %s", done.exit_code, done.out.c_str());  // 3 hello
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/child_process.h"
#include "harness/base/unique_fd.h"

namespace proctor::testing_support {

struct Ended {
  int exit_code = -1;  // -1 if a signal ended the child
  int signal = 0;
  std::string out{};
  std::string err{};
};

struct ChildOptions {
  std::vector<std::string> env{};  // NAME=VALUE adds to the test's environment; NAME removes a variable
  std::string directory{};
  std::optional<int> stdout_fd{};                  // replaces the file behind `out`; -1: stdout is closed
  std::vector<int> more_fds{};                     // become the child's descriptors 3, 4, ...
  std::function<void(pid_t pid)> while_running{};  // called before the wait for the end
};

// Runs a program with an empty stdin and waits for its end. Its output goes to files, so processes that the program
// leaves behind cannot block the caller.
Ended run_child(const std::vector<std::string>& argv, const ChildOptions& options = {});

// A child whose stdin and stdout are pipes to the test. The destructor kills it.
class TalkingChild {
 public:
  explicit TalkingChild(const std::vector<std::string>& argv);

  pid_t pid() const { return child_ ? child_->pid() : 0; }
  void say(const std::string& line);
  std::optional<std::string> line();  // the next line of stdout; nullopt after the last
  std::string rest();                 // reads stdout until the child closes it
  ChildEnd finish();                  // closes the child's stdin and waits for its end

 private:
  bool receive();

  UniqueFd to_;
  UniqueFd from_;
  std::string text_;
  std::optional<ChildProcess> child_;
};

}  // namespace proctor::testing_support
