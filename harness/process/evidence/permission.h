// How to allow what was not permitted, in one sentence that can be copied.
#pragma once

#include <optional>
#include <string>

namespace proctor {

struct TracePermission {
  std::optional<int> yama;  // kernel.yama.ptrace_scope; none: the kernel has no Yama
  bool capable = false;     // CAP_SYS_PTRACE
};

TracePermission read_trace_permission();

// Whether the memory and the stacks of a process of the same user that is no child can be read.
bool allows_tracing(const TracePermission& permission);

// Sources: Documentation/admin-guide/LSM/Yama.rst, ptrace(2) "Ptrace access mode checking".
std::string how_to_allow_tracing(const TracePermission& permission);

}  // namespace proctor
