// Looks at a process after it crashed: takes its core into the run directory and reads there where it was. It runs in a
// process of its own that may be killed at any step, as collect.h does.
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

struct CrashRequest {
  CoreOwner owner{};
  std::string core_glob;   // where its core is, absolute: core_glob() of core_file.h
  std::string core;        // where it is kept
  std::string scratch{};   // what lies below it goes with the case
  std::uint64_t room = 0;  // bytes of the disk that it may take there
  Milliseconds budget{4'500};
  std::map<std::string, std::string> environment{};  // of the tools, as in CollectRequest
  std::string more_tools{};
};

// `digest` is called whenever it is better than before.
void collect_crash(const CrashRequest& request, Containment& containment, std::ostream& text,
                   const std::function<void(const EvidenceDigest&)>& digest);

// The innermost frames of a thread that crashed, a line each; those that only raise the signal are left out.
std::vector<std::string> crash_lines(const ThreadStack& thread, bool is_python);

}  // namespace proctor
