// The kernel log from now on, without ever waiting for it. A caller that wants the lines of a period marks
// its start and asks later for the lines since then. They are found by their order in the log, not by clocks.
//
// Each look takes at most 20 ms of CPU time, and at most the newest 4,096 lines are kept: a flood of messages costs
// lines, which are counted, and never time. Only messages of the kernel itself are kept, not those that
// programs write into its log.
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

// Names a file that stands in for /dev/kmsg: for tests, and for containers that are given a copy of the
// host's log. Its lines may be records of /dev/kmsg or plain text, as dmesg prints it.
inline constexpr const char* kKernelLogVariable = "PROCTOR_KERNEL_LOG";

// `6,339,5140900,-;text`, and lines ` KEY=VALUE` after it. None if it is not from the kernel itself or is no
// record.
std::optional<KernelLine> parse_kmsg(std::string_view record);

// The error of opening /dev/kmsg and how to allow it, in one sentence.
std::string how_to_read_kernel_log(const std::string& path, int error);

class KernelLog {
 public:
  // `stand_in`: a file to read instead, or "".
  explicit KernelLog(const std::string& stand_in = {});
  // Reads the file that the environment names, or /dev/kmsg.
  static KernelLog from_environment();

  // Why the log cannot be read, with how to allow it; "" if it can.
  const std::string& problem() const { return problem_; }
  bool is_stand_in() const { return stand_in_; }

  using Position = std::uint64_t;
  // Of the present end of the log.
  Position position();

  struct Lines {
    std::vector<KernelLine> lines;
    std::uint64_t lost = 0;  // overwritten before they were read, or too many
    Position end = 0;        // behind the last of them
  };
  Lines since(Position position);

 private:
  static constexpr std::size_t kMaxLines = 4096;

  void read_new_lines();
  bool read_record();  // false: nothing more for now
  bool read_file_part();
  void take_text(std::string_view line);
  void keep(KernelLine line);

  UniqueFd fd_;
  bool stand_in_ = false;
  std::string problem_;
  std::deque<KernelLine> lines_;
  Position first_ = 0;                     // of lines_.front()
  std::optional<std::uint64_t> sequence_;  // of the newest record
  std::string rest_;                       // when a file is read, the start of an incomplete line
};

}  // namespace proctor
