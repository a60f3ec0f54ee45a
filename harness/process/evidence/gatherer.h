// How the runner has evidence gathered: in a child with a deadline, so that nothing that the case's processes
// do can hold the runner up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/events.h"
#include "harness/process/evidence/core_file.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

// What the child that gathers evidence reports to the runner (harness/cli/hidden_commands.cc), as it knows it at a time.
struct EvidenceDigest {
  std::vector<std::string> lines{};   // at most ten
  std::optional<StackFrame> frame{};  // own_frame.h
  std::string core_program{};         // the executable of a core that is kept, where it is known
};

// As the child prints it; several may follow each other, and the last complete one counts.
std::string to_text(const EvidenceDigest& digest);
EvidenceDigest last_digest(std::string_view text);

class ContainedProcess;
class Containment;

inline constexpr Milliseconds kEvidenceLimit{5'000};  // without waits for a CPU; ten times that with them

struct GatherRequest {
  std::string program;  // proctor itself
  int guard = 0;        // of the case
  std::vector<std::string> devices;
  std::string file;                         // absolute path; everything is written there
  std::vector<std::string> kernel_lines{};  // of the case's time and devices
  std::string kernel_gap{};                 // why there may be more of them, or ""
  std::vector<std::string> environment;     // of the tools
};

// Of a process that crashed and left a core.
struct CrashGatherRequest {
  std::string program;  // proctor itself
  CoreOwner owner{};
  std::string core_glob;
  std::string file;        // absolute path, as above
  std::string core;        // where the core is kept
  std::string scratch{};   // of the case, if it has one
  std::uint64_t room = 0;  // for it, in bytes
  std::vector<std::string> environment;
};

struct Gathered {
  EvidenceDigest digest{};
  std::string problem{};  // why there may be less than usual, or ""
};

// The command line of the child, without the program.
std::vector<std::string> gather_arguments(const GatherRequest& request);
std::vector<std::string> gather_arguments(const CrashGatherRequest& request);

// `on_done` is called once from the loop, at the latest at the deadline. The process that is returned may be
// stopped and dropped at any time.
std::shared_ptr<ContainedProcess> gather_evidence(boost::asio::io_context& io, Containment& containment,
                                                  const GatherRequest& request,
                                                  std::function<void(Gathered)> on_done);
std::shared_ptr<ContainedProcess> gather_evidence(boost::asio::io_context& io, Containment& containment,
                                                  const CrashGatherRequest& request,
                                                  std::function<void(Gathered)> on_done);

}  // namespace proctor
