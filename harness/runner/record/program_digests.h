// The digests of the programs that the suites start: a result is of one program, and a gate wants to know of which.
//
// A test program may have 500 MB, which takes a second or two to read, and the first case waits for nobody. So the plan,
// the first record, has only the size of each, and they are read a piece at a time while the cases run; what is left then
// is read after the last case, within limits: somebody waits for the reports.
//
// A digest is of what all cases ran. So each file is opened before the first case, and is the same file after the last
// one: also by its ctime, which no program sets, so that bytes and dates that were put back do not hide a change. A
// program that was changed is a warning and has no digest; one that was told before is taken back.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/digest.h"
#include "harness/base/duration.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/events.h"

namespace proctor {

class ProgramDigests {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
  // A program of which more is left after the last case is given up at once: it would only take their time from the others.
  static constexpr std::uint64_t kMostAtEnd = std::uint64_t{1} << 30;

  // Opens the programs of `suites`, each once, as they are now.
  explicit ProgramDigests(const std::vector<PlannedSuite>& suites);

  bool is_done() const { return left_.empty(); }
  // Reads the next piece, if any is left. Tells the digest of what came to its end.
  void read_piece(EventSink& sink);
  // Reads the rest, for `time` at most and until somebody wants the run to stop. Takes back the digests of what changed.
  void finish(EventSink& sink, Milliseconds time, const std::function<bool()>& stop_wanted);

 private:
  struct Program {
    std::string path;
    struct stat planned {};  // the file
    struct stat name {};     // what stands under the path, which may be a link to it
    bool found = false;
    UniqueFd file{};
    int error = 0;           // why it could not be opened
    std::uint64_t read = 0;  // bytes
    Sha256 digest{};
  };

  static bool is_as_planned(const Program& program);
  bool is_first_too_large() const;
  void end(EventSink& sink, const std::string& reason);

  std::deque<Program> left_;
  std::vector<Program> reported_;  // with their digests
  std::vector<char> piece_;
};

}  // namespace proctor
