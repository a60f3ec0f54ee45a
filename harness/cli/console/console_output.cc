#include "harness/cli/console/console_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/number_text.h"
#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/cli/console/messages.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kMaxPending = 1024 * 1024;
// PIPE_BUF: a write of this size does not block if poll() reports the pipe as writable
constexpr std::size_t kPiece = 4096;
constexpr std::size_t kMaxTitle = 1000;
constexpr int kDefaultColumns = 80;
constexpr Milliseconds kPollAgain{100};

bool is_set(const char* value) { return value && *value; }

bool terminal_is_smart(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && is_set(term) && std::strcmp(term, "dumb") != 0;
}

}  // namespace

bool wants_colours(bool smart_terminal, const char* no_color, const char* clicolor_force) {
  if (is_set(no_color)) return false;
  if (is_set(clicolor_force) && std::strcmp(clicolor_force, "0") != 0) return true;
  return smart_terminal;
}

ConsoleOutput::ConsoleOutput(int fd)
    : fd_(fd),
      terminal_(::isatty(fd) == 1),
      smart_(terminal_is_smart(fd)),
      colours_(wants_colours(smart_, std::getenv("NO_COLOR"), std::getenv("CLICOLOR_FORCE"))) {
  if (in_github_actions()) guard_.emplace();
}

int ConsoleOutput::columns() const {
  winsize size{};
  return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultColumns;
}

void ConsoleOutput::write(std::string_view text) {
  const std::string visible = without_hidden_controls(text);
  add(guard_ ? guard_->pass(visible) : visible);
}

// The title comes from others, so it is reduced to one line without workflow commands.
void ConsoleOutput::begin_group(std::string_view title) {
  const std::string line = one_line(clean_text(title), kMaxTitle);
  if (!guard_) return write("-- " + line + " --\n");
  const std::string visible = WorkflowCommandGuard().pass(without_hidden_controls(line));
  add("::group::" + escape_command_data(visible) + "\n");
}

void ConsoleOutput::end_group() {
  if (guard_) add("::endgroup::\n");
}

void ConsoleOutput::add(std::string_view text) {
  if (dead_) return;
  pending_ += text;
  flush(0);
  if (pending_.size() > kMaxPending) {
    pending_.erase(0, pending_.size() - kMaxPending);
    lose("no program reads it");
  }
}

void ConsoleOutput::drain(Milliseconds limit) {
  auto give_up = Clock::now() + limit;
  while (!dead_ && !pending_.empty()) {
    const auto left = std::chrono::duration_cast<Milliseconds>(give_up - Clock::now());
    if (left.count() <= 0 || (is_in_a_hurry_ && is_in_a_hurry_())) return lose("no program reads it");
    const std::size_t before = pending_.size();
    flush(static_cast<int>(std::min(left, kPollAgain).count()));
    if (pending_.size() < before) give_up = Clock::now() + limit;
  }
}

void ConsoleOutput::flush(int wait_ms) {
  while (!dead_ && !pending_.empty()) {
    pollfd poller{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&poller, 1, wait_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return;
    const ssize_t written = ::write(fd_, pending_.data(), std::min(pending_.size(), kPiece));
    if (written >= 0) {
      pending_.erase(0, static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      dead_ = errno != ENOSPC;  // a full disk may get room again
      lose(std::strerror(errno));
      pending_.clear();
    }
  }
}

void ConsoleOutput::lose(const std::string& why) {
  if (std::exchange(reported_, true)) return;
  if (on_lost_) on_lost_(why);
}

namespace {

std::string age(std::int64_t ms) {
  return ms < 60'000 ? std::to_string(ms / 1000) + " s" : human_duration(std::chrono::seconds(ms / 1000));
}

// Formats an estimate, so there are no seconds after minutes.
std::string rounded(std::int64_t ms) {
  const std::int64_t minutes = (ms + 59'999) / 60'000;
  if (ms < 60'000) return std::to_string(ms / 1000) + " s";
  if (minutes < 60) return std::to_string(minutes) + " min";
  return human_duration(std::chrono::minutes(minutes));
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

bool is_slow(const RunningCase& running) {
  return running.timeout_ms > 0 && running.age_ms * 2 > running.timeout_ms;
}

std::int64_t eta_ms(const LiveState& state) {
  if (state.executed == 0) return -1;
  const std::int64_t mean = state.executed_ms / state.executed;
  std::int64_t left = mean * (state.planned - state.ended - static_cast<int>(state.running.size()));
  for (const auto& running : state.running) left += std::max<std::int64_t>(0, mean - running.age_ms);
  const std::int64_t least = state.running.empty() ? 0 : 1'000;  // the running cases have not ended yet
  return std::max(least, left / std::max(1, state.jobs));
}

std::string elide(const std::string& text, int columns) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i])) starts.push_back(i);
  }
  const auto wanted = static_cast<std::size_t>(std::max(columns, 1));
  if (starts.size() <= wanted) return text;
  const std::size_t head = wanted / 2;
  const std::size_t tail = wanted - 1 - head;
  std::string elided = text.substr(0, starts[head]) + "…";
  if (tail > 0) elided += text.substr(starts[starts.size() - tail]);
  return elided;
}

std::string progress_text(const LiveState& state) {
  std::string text = fmt::format("[{}/{}]", thousands(state.ended), thousands(state.planned));
  if (state.bad > 0) text += fmt::format(" {} failed", thousands(state.bad));
  const auto eta = eta_ms(state);
  if (eta >= 0) text += (state.bad > 0 ? ", ETA " : " ETA ") + rounded(eta);
  return text;
}

std::string status_line(const LiveState& state, int columns) {
  std::string line = progress_text(state) + fmt::format(" · {} running", thousands(state.running.size()));
  const char* separator = ": ";
  for (const auto& running : state.running) {
    line += separator + elide(running.id, std::max(20, columns / 2)) + " " + age(running.age_ms);
    if (is_slow(running)) line += " SLOW";
    separator = ", ";
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return elide(line, columns);
}

}  // namespace proctor::cli
