// Where the kernel puts the core of a program that crashes: core(5).
#pragma once

#include <cstdint>
#include <string>

namespace proctor {

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
