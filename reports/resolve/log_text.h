// The log of an attempt (harness/process/capture.h) as people read it: the lines that the program wrote, without the
// time and the stream in front of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// Takes entries of a log apart again. What is no entry, as the mark for dropped bytes, is a line as it stands. The mark
// for no output is none.
class LogReader {
 public:
  // `text` is whole entries. Returns the lines that are complete with them.
  std::vector<std::string> add(std::string_view text);
  // What is left: the beginning of a line whose end never came.
  std::vector<std::string> finish();

 private:
  std::string open_[2];  // of each stream, a line that is not complete
};

struct LastLines {
  std::vector<std::string> lines;
  bool is_all = true;  // nothing stands before them
};

// Whether a journal that names this file means one of the run's own directory.
bool is_below_run_directory(const std::string& file);

// The last lines of a log, whole ones: at most `lines`, of at most `bytes` together. A single line that is longer is
// cut in front. Empty for a file that is not there or not readable.
LastLines last_lines_of_log(const std::string& path, std::size_t lines, std::size_t bytes);
LastLines last_lines_of_log(const UniqueFd& log, std::size_t lines, std::size_t bytes);
// What stands behind the first `from` bytes of it, at most the last `bytes`; `from` is then the place from which it goes
// on. The log may still grow.
LastLines lines_of_log(const std::string& path, std::uint64_t& from, std::size_t bytes);
// The same of plain text.
LastLines last_lines_of(std::vector<std::string> all, std::size_t lines, std::size_t bytes);

}  // namespace proctor
