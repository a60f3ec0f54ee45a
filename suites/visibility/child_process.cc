#include "suites/visibility/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "harness/core/argv.h"
#include "suites/main/check.h"
#include "suites/main/self.h"
#include "suites/visibility/child.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kDeadline{20};

bool defines(const std::string& variable, const std::string& name) {
  return variable.starts_with(name + "=");
}

std::vector<std::string> child_environment(const Variables& variables) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  const auto drop = [&](const std::string& name) {
    std::erase_if(environment, [&](const std::string& variable) { return defines(variable, name); });
  };
  for (const auto& name : child_rules().owned) drop(name);
  for (const auto& each : {child_rules().defaults, variables}) {
    for (const auto& [name, value] : each) {
      drop(name);
      if (value) environment.push_back(name + "=" + *value);
    }
  }
  return environment;
}

std::string make_scratch() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/vis-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    suite::fail_because("setup", "failed to make a scratch directory " + path + ": " + std::strerror(errno));
  }
  return path;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    suite::fail_because("setup", std::string("failed to make a pipe: ") + std::strerror(errno));
  return {fds[0], fds[1]};
}

void close_once(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

std::string shown(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += value ? name + "='" + *value + "' " : name + " unset ";
  }
  return text.empty() ? "no variables" : text.substr(0, text.size() - 1);
}

}  // namespace

struct Child::State {
  std::string scratch;
  pid_t pid = -1;
  int answer_fd = -1;
  int input_fd = -1;
  std::string text;

  ~State() {
    if (pid > 0) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    close_once(answer_fd);
    close_once(input_fd);
    std::error_code ignored;  // a leftover scratch directory spoils nothing
    if (!scratch.empty()) std::filesystem::remove_all(scratch, ignored);
  }

  // Reads until the child closes the descriptor; false when the deadline came first.
  bool read_all() {
    const auto deadline = Clock::now() + kDeadline;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd poll_for{answer_fd, POLLIN, 0};
      if (left.count() <= 0) return false;
      if (poll(&poll_for, 1, static_cast<int>(left.count())) <= 0) continue;
      char buffer[16384];
      const ssize_t got = read(answer_fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return true;
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }

  std::optional<json> parse() const {
    json document = json::parse(text, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    return document;
  }
};

Child::Child(const std::vector<std::string>& mode, const Variables& variables)
    : state_(std::make_unique<State>()) {
  state_->scratch = make_scratch();
  Pipe answer = make_pipe();
  Pipe input = make_pipe();
  state_->answer_fd = answer.read;
  state_->input_fd = input.write;

  // Copies above the target first: dup2 onto itself would keep the close-on-exec flag.
  const int write_end = fcntl(answer.write, F_DUPFD_CLOEXEC, 10);
  const int read_end = fcntl(input.read, F_DUPFD_CLOEXEC, 10);
  close_once(answer.write);
  close_once(input.read);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end, kAnswerFd);
  posix_spawn_file_actions_adddup2(&actions, read_end, STDIN_FILENO);

  std::vector<std::string> argv = suite::self_command();
  argv.insert(argv.end(), {kChildOption, state_->scratch});
  argv.insert(argv.end(), mode.begin(), mode.end());
  auto environment = child_environment(variables);
  const int error = posix_spawn(&state_->pid, argv[0].c_str(), &actions, nullptr, argv_of(argv).data(),
                                argv_of(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(write_end);
  close(read_end);
  if (error != 0) {
    state_->pid = -1;
    suite::fail_because("setup", std::string("failed to start a child: ") + std::strerror(error));
  }
}

Child::~Child() = default;

std::optional<json> Child::answer() {
  if (!state_->read_all()) return std::nullopt;
  return state_->parse();
}

ChildEnd Child::finish() {
  close_once(state_->input_fd);
  ChildEnd end;
  if (!state_->read_all()) {
    end.hung = true;
    kill(state_->pid, SIGKILL);
  }
  int status = 0;
  waitpid(state_->pid, &status, 0);
  state_->pid = -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.answer = state_->parse();
  return end;
}

json accept(const ChildEnd& end, const Variables& variables) {
  if (end.hung) suite::fail_because("driver_hang", "no answer from a child with " + shown(variables));
  if (end.signal != 0) {
    suite::fail_because(
        "driver_crash:" + std::to_string(end.signal),
        std::string("the driver died of ") + strsignal(end.signal) + " with " + shown(variables));
  }
  if (!end.answer || end.exit_code != 0) {
    suite::fail_because("driver_exit:" + std::to_string(end.exit_code),
                        "the child ended without an answer with " + shown(variables));
  }
  if (const auto problem = end.answer->value("problem", ""); !problem.empty()) suite::skip(problem);
  return *end.answer;
}

json query_child(const std::vector<std::string>& mode, const Variables& variables) {
  Child child(mode, variables);
  return accept(child.finish(), variables);
}

Enumeration record(const json& answer, const char* key) {
  auto parsed = parse_enumeration(answer.value(key, json()));
  if (!parsed) suite::fail_because("setup", std::string("the child's answer has no record '") + key + "'");
  return *std::move(parsed);
}

Enumeration enumerate(const Variables& variables) {
  return record(query_child({"enumerate"}, variables), "seen");
}

}  // namespace proctor::visibility
