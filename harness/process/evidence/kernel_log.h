// Reads the kernel log from now on, without blocking. A caller that needs the lines of a period stores the
// position at its start, and later reads the lines since then. Lines are selected by their order in the log,
// not by clocks.
//
// Each read takes at most 20 ms of CPU time. At most the newest 4,096 lines are kept. A flood of messages
// therefore loses lines, which are counted, but takes no extra time. Messages that programs write to the log
// are ignored.
//
// Sources: Documentation/ABI/testing/dev-kmsg, Documentation/admin-guide/sysctl/kernel.rst (dmesg_restrict).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/unique_fd.h"
#include "harness/journal/machine_facts.h"

namespace proctor {

// Names a file to read instead of /dev/kmsg. Tests use it, and containers that have a copy of the host's log.
// Its lines are records of /dev/kmsg or plain text in the format of dmesg.
inline constexpr const char* kKernelLogVariable = "PROCTOR_KERNEL_LOG";

// Parses `6,339,5140900,-;text`, followed by lines ` KEY=VALUE`. Returns nothing if the text is not a record,
// or not a message of the kernel itself.
std::optional<KernelLine> parse_kmsg(std::string_view record);

// Returns one sentence with the error of opening /dev/kmsg and the way to permit it.
std::string how_to_read_kernel_log(const std::string& path, int error);

// A reader of the kernel log, which keeps the newest lines.
class KernelLog {
 public:
  // `stand_in` is the file to read instead of /dev/kmsg, or "".
  explicit KernelLog(const std::string& stand_in = {});
  // Reads the file that the environment variable names, or /dev/kmsg.
  static KernelLog from_environment();

  // Returns why the log cannot be read and how to permit it, or "" if it can be read.
  const std::string& problem() const { return problem_; }
  bool is_stand_in() const { return stand_in_; }

  using Position = std::uint64_t;
  // Returns the current end of the log.
  Position position();

  struct Lines {
    std::vector<KernelLine> lines;
    std::uint64_t lost = 0;  // lines that were overwritten before they were read, or that exceeded the limit
    Position end = 0;        // position after the last line
  };
  Lines since(Position position);

 private:
  static constexpr std::size_t kMaxLines = 4096;

  void read_new_lines();
  bool read_record();  // false: no more records for now
  bool read_file_part();
  void take_text(std::string_view line);
  void keep(KernelLine line);

  UniqueFd fd_;
  bool stand_in_ = false;
  std::string problem_;
  std::deque<KernelLine> lines_;
  Position first_ = 0;                     // position of lines_.front()
  std::optional<std::uint64_t> sequence_;  // number of the newest record
  std::string rest_;                       // start of an incomplete line, when a file is read
};

}  // namespace proctor
