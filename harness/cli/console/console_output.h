// Text for people on a descriptor that may be closed, full, or not read by anybody. None of that stops a run:
// it never blocks while cases run, text that cannot be written is kept up to a bound, and only the first loss
// is reported. In a step of GitHub Actions, no command in the text is obeyed; groups are the only commands.
//
// The status line of a run on a terminal: how far it is, what runs now and for how long, and when it may end.
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
  // Asked while drain() waits. Without it nobody is in a hurry.
  void hurry_when(std::function<bool()> is_in_a_hurry) { is_in_a_hurry_ = std::move(is_in_a_hurry); }

  void write(std::string_view text);
  // Around lines that a reader may fold. In a step of GitHub Actions these are its commands, else the title is a line.
  // Both stand at the start of a line.
  void begin_group(std::string_view title);
  void end_group();
  // Waits for a slow reader, up to `limit` for each piece that it takes, and no longer when somebody is in a hurry; for the
  // end of a run.
  void drain(Milliseconds limit);

  // Its reader is slow: what is no news can be left out.
  bool is_behind() const { return pending_.size() > kBehind; }
  bool is_terminal() const { return terminal_; }
  // A terminal that can move its cursor.
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

// NO_COLOR (no-color.org) beats CLICOLOR_FORCE (bixense.com/clicolors), which beats the kind of the
// descriptor. Null and empty values count as unset; CLICOLOR_FORCE=0 asks for nothing.
bool wants_colours(bool smart_terminal, const char* no_color, const char* clicolor_force);

struct RunningCase {
  std::string id;
  std::int64_t age_ms = 0;
  std::int64_t timeout_ms = 0;  // 0: none
};

struct LiveState {
  int planned = 0;
  int ended = 0;
  int bad = 0;
  int executed = 0;              // of `ended`: those that took time
  std::int64_t executed_ms = 0;  // their time together
  int jobs = 1;
  std::vector<RunningCase> running;  // the oldest first
};

// More than half of its time limit is gone.
bool is_slow(const RunningCase& running);

// Time left, from the mean of the executed cases; -1 while nothing is known.
std::int64_t eta_ms(const LiveState& state);

// "[1050/1994] 12 failed, ETA 3 min"
std::string progress_text(const LiveState& state);

// One line of at most `columns` characters, without newline and colours: the progress, and what runs: "[12/40] 1 failed,
// ETA 9 s · 2 running: a 3 s, b 31 s SLOW".
std::string status_line(const LiveState& state, int columns);

// At most `columns` characters of UTF-8 text; what is cut from the middle becomes "…".
std::string elide(const std::string& text, int columns);

}  // namespace proctor::cli
