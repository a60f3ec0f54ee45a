// The status line of a run on a terminal: how far it is, what runs now and for how long, and when it may end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace proctor::cli {

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
