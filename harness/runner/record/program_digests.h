// The digests of the programs that the suites start. They identify the tested program, which a gate requires.
// WatchOfRun calls it.
//
// A test program may have 500 MB, which take a second or two to read, and the first case must not wait for this. The
// first record has only the size of each program. The programs are read in pieces while the cases run. The remaining
// bytes are read after the last case, with a time limit, because the reports must not be late.
//
// A digest must describe the program that all cases ran. Each file is opened before the first case, and must be the
// same file after the last one. The ctime is compared too: programs cannot set it, so restored contents and dates do
// not hide a change. A changed program causes a warning and has no digest. A digest that was already reported is
// withdrawn.
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
  // If more than this remains of a program after the last case, it is not read, because the other programs need the
  // time.
  static constexpr std::uint64_t kMostAtEnd = std::uint64_t{1} << 30;

  // Opens the programs of `suites` in their current state. Each program is opened once.
  explicit ProgramDigests(const std::vector<PlannedSuite>& suites);

  bool is_done() const { return left_.empty(); }
  // Reads the next piece, if any. Reports the digest of a program that is completely read.
  void read_piece(EventSink& sink);
  // Reads the remaining pieces, for at most `time` and until a stop is requested. Withdraws the digests of changed
  // programs.
  void finish(EventSink& sink, Milliseconds time, const std::function<bool()>& stop_wanted);

 private:
  struct Program {
    std::string path;
    struct stat planned {};  // the file
    struct stat name {};     // of the path itself, which may be a symbolic link
    bool found = false;
    UniqueFd file{};
    int error = 0;           // errno of a failed open()
    std::uint64_t read = 0;  // bytes
    Sha256 digest{};
  };

  static bool is_as_planned(const Program& program);
  bool is_first_too_large() const;
  void end(EventSink& sink, const std::string& reason);

  std::deque<Program> left_;
  std::vector<Program> reported_;  // programs whose digest was reported
  std::vector<char> piece_;
};

}  // namespace proctor
