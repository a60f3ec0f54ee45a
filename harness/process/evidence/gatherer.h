// Collects evidence for the runner in a child process with a deadline. Processes of the case can block the
// child, but never the runner.
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

// The report of the child to the runner (harness/cli/hidden_commands.cc). The child reports a new digest
// after each improvement.
struct EvidenceDigest {
  std::vector<std::string> lines{};   // at most ten
  std::optional<StackFrame> frame{};  // see own_frame.h
  std::string core_program{};         // executable of a kept core, if known
};

// The text form of a digest. The child prints several; the last complete one counts.
std::string to_text(const EvidenceDigest& digest);
EvidenceDigest last_digest(std::string_view text);

class ContainedProcess;
class Containment;

// without waits for a CPU; the limit including them is ten times as long
inline constexpr Milliseconds kEvidenceLimit{5'000};

// The parameters for the processes of a running case.
struct GatherRequest {
  std::string program;  // path of proctor
  int guard = 0;        // the guard process of the case
  std::vector<std::string> devices;
  std::string file;                         // absolute path of the evidence file
  std::vector<std::string> kernel_lines{};  // kernel messages in the time of the case, about its devices
  std::string kernel_gap{};                 // why kernel messages may be missing, or ""
  std::vector<std::string> environment;     // environment of the tools
};

// The parameters for a process that crashed and left a core.
struct CrashGatherRequest {
  std::string program;  // path of proctor
  CoreOwner owner{};
  std::string core_glob;
  std::string file;        // absolute path of the evidence file
  std::string core;        // destination of the core
  std::string scratch{};   // scratch directory of the case, or ""
  std::uint64_t room = 0;  // maximum size of the kept core, in bytes
  std::vector<std::string> environment;
};

// The result of a child.
struct Gathered {
  EvidenceDigest digest{};
  std::string problem{};  // why the evidence may be incomplete, or ""
};

// Returns the command line of the child, without the program.
std::vector<std::string> gather_arguments(const GatherRequest& request);
std::vector<std::string> gather_arguments(const CrashGatherRequest& request);

// Starts the child. `on_done` is called once from the event loop, at the latest at the deadline. The caller
// may stop and release the returned process at any time.
std::shared_ptr<ContainedProcess> gather_evidence(boost::asio::io_context& io, Containment& containment,
                                                  const GatherRequest& request,
                                                  std::function<void(Gathered)> on_done);
std::shared_ptr<ContainedProcess> gather_evidence(boost::asio::io_context& io, Containment& containment,
                                                  const CrashGatherRequest& request,
                                                  std::function<void(Gathered)> on_done);

}  // namespace proctor
