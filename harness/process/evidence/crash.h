// Examines a process after it crashed: moves its core into the run directory and reads the stack from it. It
// runs in its own process, which can be killed at any step (compare collect.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/process/containment.h"
#include "harness/process/evidence/core_file.h"
#include "harness/process/evidence/gatherer.h"
#include "harness/process/evidence/thread_stacks.h"

namespace proctor {

// The parameters of collect_crash().
struct CrashRequest {
  CoreOwner owner{};
  std::string core_glob;   // absolute glob of its core: core_glob() of core_file.h
  std::string core;        // destination of the core
  std::string scratch{};   // directory that is removed with the case
  std::uint64_t room = 0;  // maximum size of the kept core on disk, in bytes
  Milliseconds budget{4'500};
  std::map<std::string, std::string> environment{};  // environment of the tools, as in CollectRequest
  std::string more_tools{};
};

// Writes the findings to `text`. Calls `digest` after each improvement of the summary.
void collect_crash(const CrashRequest& request, Containment& containment, std::ostream& text,
                   const std::function<void(const EvidenceDigest&)>& digest);

// Returns the innermost frames of a crashed thread, one line each. Frames that only raise the signal are
// omitted.
std::vector<std::string> crash_lines(const ThreadStack& thread, bool is_python);

}  // namespace proctor
