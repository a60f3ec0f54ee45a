#include "suites/main/second_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"

namespace proctor::suite {
namespace {

// Time limit from the end of the output, or from SIGKILL, to the end of the process. Drivers clean up in between.
constexpr std::chrono::seconds kLeaving{20};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    fail_because("setup", std::string("failed to make a pipe: ") + std::strerror(errno));
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace

SecondProcess::SecondProcess(const std::vector<std::string>& words,
                             const std::vector<std::string>& environment) {
  Pipe answers = make_pipe();
  Pipe orders = make_pipe();
  ChildSpec spec{.argv = self_command(),
                 .env = environment,
                 .fds = {orders.read.get(), STDOUT_FILENO, STDERR_FILENO, answers.write.get()}};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  auto child = ChildProcess::start(spec);
  if (!child) fail_because("setup", "failed to " + child.error().what);
  child_.emplace(*std::move(child));
  answers_ = std::move(answers.read);
  orders_ = std::move(orders.write);
}

SecondProcess::Reply SecondProcess::wait_for_reply(Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Reply::kNothing;
    pollfd poll_for{answers_.get(), POLLIN, 0};
    if (poll(&poll_for, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[16384];
    const ssize_t got = read(answers_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Reply::kEnd;
    text_.append(buffer, static_cast<std::size_t>(got));
    return Reply::kText;
  }
}

std::optional<std::string> SecondProcess::line(Clock::time_point deadline) {
  std::size_t end;
  while ((end = text_.find('\n')) == std::string::npos) {
    if (wait_for_reply(deadline) != Reply::kText) return std::nullopt;
  }
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

std::optional<std::string> SecondProcess::rest(Clock::time_point deadline) {
  Reply received;
  while ((received = wait_for_reply(deadline)) == Reply::kText) {
  }
  if (received == Reply::kNothing) return std::nullopt;
  return std::exchange(text_, "");
}

void SecondProcess::order(const std::string& line) {
  const std::string text = line + "\n";
  // If the process has ended, the write fails without a signal. The missing reply then shows the end.
  const sighandler_t before = signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const ssize_t written = write(orders_.get(), text.data(), text.size());
  signal(SIGPIPE, before);
}

void SecondProcess::kill() {
  if (!child_) return;
  child_->kill(SIGKILL);
  (void)child_->wait_until(Clock::now() + kLeaving);
  child_.reset();
}

SecondProcessEnd SecondProcess::finish(Clock::time_point deadline) {
  orders_.reset();
  SecondProcessEnd end;
  auto said = rest(deadline);
  const auto ended = child_ && said ? child_->wait_until(Clock::now() + kLeaving) : std::nullopt;
  child_.reset();
  end.rest = std::move(said).value_or("");
  end.hung = !ended;
  if (ended) {
    end.signal = ended->signal;
    end.exit_code = ended->signal != 0 ? 0 : ended->exit_code;  // -1: other code reaped it
  }
  return end;
}

std::vector<std::string> self_command() {
  const char* program = std::getenv(child::kSelfVariable);
  const char* launcher = std::getenv(child::kLauncherVariable);
  if (program == nullptr || launcher == nullptr) return {"/proc/self/exe"};
  auto words = nlohmann::json::parse(launcher).get<std::vector<std::string>>();
  words.emplace_back(program);
  return words;
}

}  // namespace proctor::suite
