// Reads facts about one process of a case from /proc: its state, the places where its threads wait, its
// device nodes and its memory. An unreadable file leaves its field empty.
//
// Reading some of these files waits for locks of the process (process/proc_reader.h). A file that is not read
// in time is omitted. This code still runs in a child that can be killed, never in the runner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/process/proc_reader.h"

namespace proctor {

// The state of one thread.
struct ThreadFacts {
  int tid = 0;
  int own_tid = 0;  // in the PID namespace of the thread
  std::string name;
  char state = '?';
  std::string wchan;         // kernel function in which it sleeps; "" if it runs or the file is unreadable
  std::string syscall;       // number and arguments, or "running"
  std::string kernel_stack;  // readable by root only
};

// The state of one process and its threads.
struct ProcessFacts {
  int pid = 0;
  int parent = 0;
  std::string name;
  std::string command;
  char state = '?';
  std::uint64_t resident_kib = 0;
  std::uint64_t swapped_kib = 0;
  std::string rank;                       // rank in a distributed job, from RANK and similar variables
  std::vector<std::string> device_nodes;  // accelerator nodes that are open or mapped, sorted
  std::string cgroup;                     // path below the mount point
  std::vector<ThreadFacts> threads;       // the main thread first
  bool holds_memory_lock = false;         // command, environment and mappings could not be read in time
  bool may_trace = true;                  // whether stacks are readable
};

// Returns the living processes below `root`, parents first, without zombies. At most 64.
std::vector<int> living_descendants(int root);

// Reads the facts. A process that has ended meanwhile has no threads.
ProcessFacts read_process(ProcReader& reader, int pid);

// Returns memory and process figures of a cgroup, one on each line, as in the kernel's files. `path` is
// ProcessFacts::cgroup. Returns "" without cgroup v2.
std::string cgroup_figures(const std::string& path);

// Returns whether the path is an accelerator node: DRM, accel, NVIDIA, AMD.
bool is_accelerator_node(std::string_view path);

}  // namespace proctor
