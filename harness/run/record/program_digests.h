// The digests of the programs that the suites start: a result is of one program, and a gate wants to know of which.
//
// A test program may have 500 MB, which takes a second or two to read, and the first case waits for nobody. So the plan,
// the first record, has only the size of each, and they are read a piece at a time while the cases run; what is left then
// is read after the last case, within limits: somebody waits for the reports. A program that was changed meanwhile, so that some cases ran the one and
// some the other, is a warning and has no digest.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/digest.h"
#include "harness/core/duration.h"
#include "harness/core/events.h"
#include "harness/core/unique_fd.h"

namespace proctor {

class ProgramDigests {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
  // A program of which more is left after the last case is given up at once: it would only take their time from the others.
  static constexpr std::uint64_t kMostAtEnd = std::uint64_t{1} << 30;

  // Of the programs of `suites`, each once, as they are now.
  explicit ProgramDigests(const std::vector<PlannedSuite>& suites);

  // Reads the next piece, if any is left. Says what came to its end.
  void read_piece(EventSink& sink);
  // Reads the rest, for `time` at most and until somebody wants the run to stop.
  void finish(EventSink& sink, Milliseconds time, const std::function<bool()>& stop_wanted);

 private:
  struct Program {
    std::string path;
    struct stat planned {};
    bool found = false;
    UniqueFd file{};
    std::uint64_t read = 0;  // bytes
    Sha256 digest{};
  };

  bool is_first_too_large() const;
  void end(EventSink& sink, const std::string& reason);

  std::deque<Program> left_;
  std::vector<char> piece_;
};

}  // namespace proctor
