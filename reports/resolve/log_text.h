// Reads the log of an attempt (harness/process/capture.h) as text for people: the lines that the program wrote, without
// the time and stream before each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// Parses entries of a log. Text that is not an entry, such as the mark for dropped bytes, becomes a line. The mark for
// no output is ignored.
class LogReader {
 public:
  // `text` has complete entries. Returns the lines that they complete.
  std::vector<std::string> add(std::string_view text);
  // Returns the incomplete lines of both streams.
  std::vector<std::string> finish();

 private:
  std::string open_[2];  // the incomplete line of each stream
};

// The last lines of a log or text.
struct LastLines {
  std::vector<std::string> lines;
  bool is_all = true;  // false if earlier lines are omitted
};

// Returns whether a file name in a journal refers to a file of the run's own directory.
bool is_below_run_directory(const std::string& file);

// Returns the last complete lines of a log: at most `lines`, with at most `bytes` together. A longer single line is cut
// at its beginning. Returns nothing if the file does not exist or is not readable.
LastLines last_lines_of_log(const std::string& path, std::size_t lines, std::size_t bytes);
LastLines last_lines_of_log(const UniqueFd& log, std::size_t lines, std::size_t bytes);
// Returns the text after the first `from` bytes, at most the last `bytes`. It sets `from` to the offset for the next
// call. The log may still grow.
LastLines lines_of_log(const std::string& path, std::uint64_t& from, std::size_t bytes);
// The same for plain text.
LastLines last_lines_of(std::vector<std::string> all, std::size_t lines, std::size_t bytes);

}  // namespace proctor
