// When a server is ready: `exec --ready-regex`. A line of its output says so. Then its clock starts, and a
// file tells other programs.
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
  // Whether it matches somewhere in `line`. If the line may go on, `$` does not match its end.
  bool matches(std::string_view line, bool complete) const;

 private:
  std::shared_ptr<const regex_t> regex_;
};

struct ReadyPolicy {
  LineRegex regex;
  std::optional<Milliseconds>
      timeout;       // until it is ready; none: the case's own, which counts again from then
  std::string file;  // exists from then until the command has ended; "": none
};

// Whether one process is ready. It reads both streams line by line, each line cut at 4 KiB, also a last line
// that has no end yet.
class Readiness {
 public:
  Readiness(ReadyPolicy policy, Clock::time_point started);
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // True, only once, if these bytes said that it is ready.
  bool scan(Stream stream, std::string_view bytes, Clock::time_point now);
  // Call this when no byte follows: a last line is then complete.
  void streams_ended(Clock::time_point now);

  bool is_ready() const { return ready_at_.has_value(); }
  const std::optional<Milliseconds>& timeout() const { return policy_.timeout; }
  // How long it took, or none if it is not ready.
  std::optional<Measure> measure() const;

  // Creates the file, complete or not at all. It holds one line of JSON: the pid of this process, the line
  // that matched, and `devices`. It is removed at the end.
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
