#include "harness/cli/console/console_output.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness/base/ci_service.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/cli/console/messages.h"
#include "reports/resolve/truncate.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kMaxPending = 1024 * 1024;
constexpr std::size_t kPiece = 4096;  // PIPE_BUF: a pipe that polls writable takes so much without blocking
constexpr std::size_t kMaxTitle = 1000;
constexpr int kDefaultColumns = 80;
constexpr Milliseconds kLookAgain{100};

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

// The title is text of others: it is one line, and holds no command.
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
    lose("nobody reads it");
  }
}

void ConsoleOutput::drain(Milliseconds limit) {
  auto give_up = Clock::now() + limit;
  while (!dead_ && !pending_.empty()) {
    const auto left = std::chrono::duration_cast<Milliseconds>(give_up - Clock::now());
    if (left.count() <= 0 || (is_in_a_hurry_ && is_in_a_hurry_())) return lose("nobody reads it");
    const std::size_t before = pending_.size();
    flush(static_cast<int>(std::min(left, kLookAgain).count()));
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
      dead_ = errno != ENOSPC;  // a full disk may have room again
      lose(std::strerror(errno));
      pending_.clear();
    }
  }
}

void ConsoleOutput::lose(const std::string& why) {
  if (std::exchange(told_, true)) return;
  if (on_lost_) on_lost_(why);
}

}  // namespace proctor::cli
