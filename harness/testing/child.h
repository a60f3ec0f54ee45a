// How tests start programs. What is missing or cannot be started is in `err`, with exit code -1. Example:
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
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out{};
  std::string err{};
};

struct ChildOptions {
  std::vector<std::string> env{};  // NAME=VALUE, added to the test's own; NAME removes
  std::string directory{};
  std::optional<int> stdout_fd{};                  // instead of what is kept in `out`; -1: closed
  std::vector<int> more_fds{};                     // its descriptors 3, 4, ...
  std::function<void(pid_t pid)> while_running{};  // before its end is waited for
};

// Its stdin is empty. What it and those that it leaves behind write goes to files: nobody waits for them.
Ended run_child(const std::vector<std::string>& argv, const ChildOptions& options = {});

// A child with which a test talks: its stdin and its stdout are pipes. It is killed when this goes.
class TalkingChild {
 public:
  explicit TalkingChild(const std::vector<std::string>& argv);

  pid_t pid() const { return child_ ? child_->pid() : 0; }
  void say(const std::string& line);
  std::optional<std::string> line();  // what it says next; nothing at the end
  std::string rest();                 // all that it says until it closes its stdout
  ChildEnd finish();                  // closes its stdin and waits for it

 private:
  bool receive();

  UniqueFd to_;
  UniqueFd from_;
  std::string text_;
  std::optional<ChildProcess> child_;
};

}  // namespace proctor::testing_support
