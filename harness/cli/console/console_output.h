// ConsoleOutput writes text for people to a descriptor that may be closed, full, or never read. None of these stops a
// run. The output never blocks while cases run. Text that cannot be written is kept up to a limit, and only the first
// loss is reported. In a step of GitHub Actions, workflow commands in the text have no effect, except for groups.
//
// The file also formats the status line of a run: the progress, the running cases with their ages, and the estimated
// remaining time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/workflow_commands.h"

namespace proctor::cli {

class ConsoleOutput {
 public:
  using OnLost = std::function<void(const std::string& why)>;

  explicit ConsoleOutput(int fd);
  void on_lost(OnLost handler) { on_lost_ = std::move(handler); }
  // drain() calls `is_in_a_hurry` while it waits, and stops early if it returns true. Without it, drain() waits to its
  // limit.
  void hurry_when(std::function<bool()> is_in_a_hurry) { is_in_a_hurry_ = std::move(is_in_a_hurry); }

  void write(std::string_view text);
  // Begin and end lines that a reader can fold. In a step of GitHub Actions they are workflow commands; otherwise the
  // title is a line. Call both at the start of a line.
  void begin_group(std::string_view title);
  void end_group();
  // Waits for a slow reader at the end of a run, up to `limit` for each piece that it reads. It stops early if the run
  // is in a hurry.
  void drain(Milliseconds limit);

  // Returns true if the reader is slow, so that unimportant text can be left out.
  bool is_behind() const { return pending_.size() > kBehind; }
  bool is_terminal() const { return terminal_; }
  // Returns true for a terminal with cursor movement.
  bool is_smart() const { return smart_; }
  bool colours() const { return colours_; }
  int columns() const;

 private:
  static constexpr std::size_t kBehind = 256 * 1024;

  void add(std::string_view text);
  void flush(int wait_ms);
  void lose(const std::string& why);

  int fd_;
  bool terminal_;
  bool smart_;
  bool colours_;
  bool dead_ = false;
  bool reported_ = false;
  std::optional<WorkflowCommandGuard> guard_;
  std::string pending_;
  OnLost on_lost_;
  std::function<bool()> is_in_a_hurry_;
};

// Returns whether to print colours. NO_COLOR (no-color.org) has priority over CLICOLOR_FORCE (bixense.com/clicolors),
// which has priority over the kind of descriptor. Null and empty values count as unset, and so does CLICOLOR_FORCE=0.
bool wants_colours(bool smart_terminal, const char* no_color, const char* clicolor_force);

struct RunningCase {
  std::string id;
  std::int64_t age_ms = 0;
  std::int64_t timeout_ms = 0;  // 0: no limit
};

struct LiveState {
  int planned = 0;
  int ended = 0;
  int bad = 0;
  int executed = 0;              // ended cases that were started
  std::int64_t executed_ms = 0;  // total duration of the executed cases
  int jobs = 1;
  std::vector<RunningCase> running;  // the oldest first
};

// Returns true after half of the time limit.
bool is_slow(const RunningCase& running);

// Estimates the remaining time from the mean duration of executed cases; -1 if there is none.
std::int64_t eta_ms(const LiveState& state);

// Returns the progress: "[1050/1994] 12 failed, ETA 3 min".
std::string progress_text(const LiveState& state);

// Returns a line of at most `columns` characters, without newline and colours. It has the progress and the running
// cases: "[12/40] 1 failed, ETA 9 s · 2 running: a 3 s, b 31 s SLOW".
std::string status_line(const LiveState& state, int columns);

// Shortens UTF-8 text to `columns` characters: the middle is replaced by "…".
std::string elide(const std::string& text, int columns);

}  // namespace proctor::cli
