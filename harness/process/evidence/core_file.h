// Core files: finds the core of a crashed process, verifies its owner, and moves it into the run directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// The facts that are read from a core.
struct CoreFacts {
  int pid = 0;          // in the PID namespace of the process
  std::string program;  // path of its executable; "" if the core has no valid path
  // The id of the process's case (journal/child_protocol.h, kContainmentVariable), from the environment at
  // the start of the program. "" if the variable is not in the core.
  std::string containment_id;
};

// Returns nothing if the file is not a core of this machine's architecture. The file is untrusted.
std::optional<CoreFacts> read_core(const std::string& path);

// The process whose core is searched.
struct CoreOwner {
  int pid = 0;  // in the PID namespace of the process
  // no other process at that time had that pid; false if cases have their own PID namespaces
  bool is_alone = true;
  std::string containment_id;  // id of its case
  std::int64_t since = 0;      // start time, in seconds of Unix time
};

// A core file that is open, with its facts.
struct FoundCore {
  std::string path;
  UniqueFd file;
  CoreFacts facts;
};

// Returns the newest core of the process that matches the glob. Cores that another user could have written
// are ignored. Cores without enough facts to identify their process are ignored, too.
std::optional<FoundCore> find_core(const std::string& glob, const CoreOwner& owner);

// Removes the cores that match the glob and for which `goes` returns true. The same conditions apply.
void remove_cores(const std::string& glob, std::int64_t since,
                  const std::function<bool(const CoreFacts&)>& goes);

// Returns the disk usage of a file. It is less than the file length if the file has holes.
std::uint64_t bytes_on_disk(const std::string& path);

// Renames the core, or copies it with its holes to another file system. A copy must finish before `end`.
Result<void> move_core(const FoundCore& core, const std::string& to, Clock::time_point end);

// Returns the temporary name of an incomplete copy. It has the extension of a core, because its content is as
// confidential.
std::string core_draft(const std::string& core);

// Copies a regular file with its holes to a new name. The copy of a core needs mode 0600, so that only the
// owner can read it.
Result<void> copy_with_holes(const std::string& from, const std::string& to, mode_t mode);

// The kernel setting for the place of core files: core(5).
struct CorePattern {
  std::string text;       // kernel.core_pattern
  bool adds_pid = false;  // kernel.core_uses_pid

  // Returns whether the machine passes cores to a program or a socket, so that there is no file.
  bool is_taken() const { return text.starts_with('|') || text.starts_with('@'); }
  // Returns whether cores of two processes in one directory have the same path.
  bool is_shared() const { return text.find("%p") == text.npos && text.find("%P") == text.npos && !adds_pid; }
};

CorePattern read_core_pattern();

// RLIMIT_CORE of the runner, in bytes.
struct CoreLimit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

CoreLimit read_core_limit();

// Returns whether the default action of the signal writes a core.
bool leaves_a_core(int signal);

// A crashed process, as far as its ids are known.
struct CrashedProcess {
  int pid = 0;          // in its own PID namespace; 0: any
  int host_pid = 0;     // in the namespace of other processes; 0: not known
  std::string program;  // as in its command line
};

// Returns whether this process and the tools of the host see the same pids. This is not the case in a
// container.
bool have_pids_of_the_host();

// Returns a glob(7) for the core of a process in that directory. Unknown parts of the name are `*`.
std::string core_glob(const CorePattern& pattern, const CrashedProcess& process,
                      const std::string& directory);

// Returns one sentence for a user without a core. If the kernel reports a core (`dumped`), it names the
// program that received it. Otherwise it has the reason and the setting that enables cores. The soft limit is
// not a reason, because a case may raise it up to the hard limit.
std::string where_the_core_is(const CorePattern& pattern, const CoreLimit& limit,
                              const CrashedProcess& process, bool dumped);

}  // namespace proctor
