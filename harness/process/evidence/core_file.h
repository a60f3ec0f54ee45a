// A core as the kernel wrote it: where it is, whose it is, and how it comes into the run directory.
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

struct CoreFacts {
  int pid = 0;          // as the process saw itself
  std::string program;  // the path of its executable; "" where the core does not say one that can be typed
  // Of its case (journal/child_protocol.h, kContainmentVariable), as it is in the environment with which the program was
  // started; "" where it is not there.
  std::string containment_id;
};

// None for what is no core of this kind of machine. The file may hold anything.
std::optional<CoreFacts> read_core(const std::string& path);

// Whose core is looked for.
struct CoreOwner {
  int pid = 0;                 // as the process saw itself
  bool is_alone = true;        // no other process of its time has that pid, as in a PID namespace of a case
  std::string containment_id;  // of its case
  std::int64_t since = 0;      // when it began, in seconds of Unix time
};

struct FoundCore {
  std::string path;
  UniqueFd file;
  CoreFacts facts;
};

// The newest core of that process that the glob finds. None is taken that another user could have written, and none
// that does not say enough to know whose it is.
std::optional<FoundCore> find_core(const std::string& glob, const CoreOwner& owner);

// Removes the cores that the glob finds and for which `goes` says so, under the same conditions.
void remove_cores(const std::string& glob, std::int64_t since,
                  const std::function<bool(const CoreFacts&)>& goes);

// What it takes on the disk, which is less than its length where it has holes.
std::uint64_t bytes_on_disk(const std::string& path);

// Renames it, or copies it to another file system with its holes, if that is done by `end`.
Result<void> move_core(const FoundCore& core, const std::string& to, Clock::time_point end);

// Where the copy of a core is until it is whole. It ends as a core does: it is as secret.
std::string core_draft(const std::string& core);

// Any regular file, whose holes take no place in the copy either. It is for a new name, and of a core only the owner
// may read the copy: mode 0600.
Result<void> copy_with_holes(const std::string& from, const std::string& to, mode_t mode);

// Where the kernel puts the core of a program that crashes: core(5).
struct CorePattern {
  std::string text;       // kernel.core_pattern
  bool adds_pid = false;  // kernel.core_uses_pid

  // Not a file: a program or a socket of the machine takes cores.
  bool is_taken() const { return text.starts_with('|') || text.starts_with('@'); }
  // Whether the cores of two processes in one directory have the same path.
  bool is_shared() const { return text.find("%p") == text.npos && text.find("%P") == text.npos && !adds_pid; }
};

CorePattern read_core_pattern();

// RLIMIT_CORE of the runner.
struct CoreLimit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

CoreLimit read_core_limit();

// Whether the default action of the signal writes a core.
bool leaves_a_core(int signal);

struct CrashedProcess {
  int pid = 0;          // as it saw itself; 0: any
  int host_pid = 0;     // as others see it; 0: not known
  std::string program;  // as it was started
};

// Whether a process has the same pid for us as for the tools of the host, which is not so in a container.
bool have_pids_of_the_host();

// Where a core lies that was written by a process in that directory, as glob(7): what is not known of the process is
// a `*`.
std::string core_glob(const CorePattern& pattern, const CrashedProcess& process,
                      const std::string& directory);

// One sentence for who has no core to look at: who took it, where the kernel says that there is one (`dumped`), or why
// there is none and what to set. The soft limit is no reason: a case may leave what the hard one allows.
std::string where_the_core_is(const CorePattern& pattern, const CoreLimit& limit,
                              const CrashedProcess& process, bool dumped);

}  // namespace proctor
