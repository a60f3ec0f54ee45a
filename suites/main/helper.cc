#include "suites/main/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "harness/core/argv.h"
#include "suites/main/check.h"
#include "suites/main/self.h"
#include "suites/main/skipped.h"

namespace proctor::suite {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kAnswerFd = 3;
constexpr int kFirstFreeFd = 10;  // above every descriptor that the child gets a fixed number for

void close_once(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    fail_because("setup", std::string("failed to make a pipe: ") + std::strerror(errno));
  return {fds[0], fds[1]};
}

std::vector<std::string> environment_with(const Helper::Variables& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  for (const auto& [name, value] : variables) {
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    environment.push_back(name + "=" + value);
  }
  return environment;
}

std::map<std::string, HelperBody>& helpers() {
  static std::map<std::string, HelperBody> bodies;
  return bodies;
}

int run_helper(const std::string& name, const std::vector<std::string>& words) {
  const auto found = helpers().find(name);
  if (found == helpers().end()) {
    std::cerr << "unknown helper '" << name << "'\n";
    return 2;
  }
  try {
    found->second(words);
    return 0;
  } catch (const Skipped& skipped) {
    answer({{"skip", skipped.reason()}});
  } catch (const std::exception& error) {
    answer({{"error", error.what()}});
  }
  return 1;
}

}  // namespace

struct Helper::State {
  pid_t pid = -1;
  int answer_fd = -1;
  int order_fd = -1;
  std::string text;  // read, not yet a whole line

  ~State() {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    close_once(answer_fd);
    close_once(order_fd);
  }

  // One line; nothing at the end of the answers or at the deadline.
  std::optional<std::string> read_line(Clock::time_point deadline, bool& late) {
    late = false;
    while (true) {
      if (const std::size_t end = text.find('\n'); end != std::string::npos) {
        std::string line = text.substr(0, end);
        text.erase(0, end + 1);
        return line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd poll_for{answer_fd, POLLIN, 0};
      late = left.count() <= 0;
      if (late) return std::nullopt;
      if (poll(&poll_for, 1, static_cast<int>(left.count())) <= 0) continue;
      char buffer[4096];
      const ssize_t got = read(answer_fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }
};

Helper::Helper(const std::string& name, const std::vector<std::string>& words, const Variables& variables)
    : state_(std::make_unique<State>()) {
  const Pipe answers = make_pipe();
  const Pipe orders = make_pipe();
  state_->answer_fd = answers.read;
  state_->order_fd = orders.write;
  // Copies above the target first: dup2 onto itself would keep the close-on-exec flag.
  const int answer_end = fcntl(answers.write, F_DUPFD_CLOEXEC, kFirstFreeFd);
  const int order_end = fcntl(orders.read, F_DUPFD_CLOEXEC, kFirstFreeFd);
  close(answers.write);
  close(orders.read);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, answer_end, kAnswerFd);
  posix_spawn_file_actions_adddup2(&actions, order_end, STDIN_FILENO);

  std::vector<std::string> argv = self_command();
  argv.insert(argv.end(), {kHelperOption, name});
  argv.insert(argv.end(), words.begin(), words.end());
  auto environment = environment_with(variables);
  const int error = posix_spawn(&state_->pid, argv[0].c_str(), &actions, nullptr, argv_of(argv).data(),
                                argv_of(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(answer_end);
  close(order_end);
  if (error != 0) {
    state_->pid = -1;
    fail_because("setup", "failed to start " + argv[0] + ": " + std::strerror(error));
  }
}

Helper::~Helper() = default;

std::optional<json> Helper::try_answer(std::chrono::milliseconds deadline) {
  bool late = false;
  const auto line = state_->read_line(Clock::now() + deadline, late);
  if (!line) return std::nullopt;
  json document = json::parse(*line, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  return document;
}

json Helper::answer() {
  const auto document = try_answer();
  if (!document) {
    const HelperEnd end = finish(std::chrono::milliseconds(100));
    if (end.hung) fail_because("helper_hang", "the second process gave no answer in time");
    if (end.signal != 0) {
      fail_because("helper_crash:" + std::to_string(end.signal),
                   std::string("the second process died of ") + strsignal(end.signal));
    }
    fail_because("helper_error",
                 "the second process ended without an answer, with code " + std::to_string(end.exit_code));
  }
  if (document->contains("skip")) skip(document->at("skip"));
  if (document->contains("error"))
    fail_because("helper_error", "second process: " + document->at("error").get<std::string>());
  return *document;
}

void Helper::order(const std::string& line) {
  const std::string text = line + "\n";
  // A helper that is gone cannot be told anything; its missing answer says so.
  const sighandler_t before = signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const ssize_t written = write(state_->order_fd, text.data(), text.size());
  signal(SIGPIPE, before);
}

void Helper::kill() {
  if (state_->pid <= 0) return;
  ::kill(state_->pid, SIGKILL);
  waitpid(state_->pid, nullptr, 0);
  state_->pid = -1;
}

HelperEnd Helper::finish(std::chrono::milliseconds deadline) {
  HelperEnd end;
  close_once(state_->order_fd);
  bool late = false;
  while (state_->read_line(Clock::now() + deadline, late)) {
  }
  // The answers end with the process; a helper never closes them itself.
  if (late) {
    end.hung = true;
    ::kill(state_->pid, SIGKILL);
  }
  int status = 0;
  waitpid(state_->pid, &status, 0);
  state_->pid = -1;
  if (end.hung) return end;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return end;
}

bool add_helper(const std::string& name, HelperBody body) {
  helpers().emplace(name, std::move(body));
  return true;
}

void answer(const json& document) {
  const std::string line = document.dump() + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(kAnswerFd, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(3);  // nobody listens
    done += static_cast<std::size_t>(written);
  }
}

std::string wait_for_input() {
  std::string line;
  std::getline(std::cin, line);
  return line;
}

int run_main_with_helpers(int argc, char** argv, const std::vector<std::string>& needs) {
  if (argc < 3 || std::strcmp(argv[1], kHelperOption) != 0) return run_main(argc, argv, needs);
  return run_helper(argv[2], {argv + 3, argv + argc});
}

}  // namespace proctor::suite
