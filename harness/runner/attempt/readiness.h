// Detects when a server is ready (`exec --ready-regex`): a line of its output matches. The clock of the case then
// starts, and a file is created for other programs. RunningAttempt uses it.
#pragma once

#include <regex.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/process/capture.h"

namespace proctor {

// A POSIX extended regular expression.
class LineRegex {
 public:
  static Result<LineRegex> compile(const std::string& pattern);
  // Returns whether the expression matches in `line`. If the line is not `complete`, `$` does not match its end.
  bool matches(std::string_view line, bool complete) const;

 private:
  std::shared_ptr<const regex_t> regex_;
};

// The rule by which a server is ready.
struct ReadyPolicy {
  LineRegex regex;
  std::optional<Milliseconds>
      timeout;       // until it is ready; none: the timeout of the case, which restarts then
  std::string file;  // exists from that time until the end of the command; "": none
};

// The readiness of one process. It reads both streams line by line, and cuts each line at 4 KiB. It also reads a last
// line that is not complete.
class Readiness {
 public:
  Readiness(ReadyPolicy policy, Clock::time_point started);
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // Returns true once: when these bytes make the process ready.
  bool scan(Stream stream, std::string_view bytes, Clock::time_point now);
  // Call this when no more bytes follow. A last line is then complete.
  void streams_ended(Clock::time_point now);

  bool is_ready() const { return ready_at_.has_value(); }
  const std::optional<Milliseconds>& timeout() const { return policy_.timeout; }
  // Returns the time until it was ready, or nothing if it is not ready.
  std::optional<Measure> measure() const;

  // Creates the file atomically. It contains one line of JSON: the pid of this process, the line that matched, and
  // `devices`. The destructor removes it.
  Result<void> report(const std::vector<std::string>& devices);

 private:
  LineSplitter& lines_of(Stream stream) { return stream == Stream::kOut ? out_ : err_; }
  void consider(std::string_view line, bool complete, Clock::time_point now);

  ReadyPolicy policy_;
  Clock::time_point started_;
  LineSplitter out_;
  LineSplitter err_;
  std::optional<Clock::time_point> ready_at_;
  std::string line_;
  bool reported_ = false;
};

}  // namespace proctor
