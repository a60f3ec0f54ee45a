// What the kernel says about one process of a case: state, where its threads wait, what it holds, how much
// memory it has. Read from /proc; a file that may not be read leaves its field empty.
//
// Some of these files wait for locks of the process itself (process/proc_reader.h): what does not come in time is left
// out. All the same this runs in a child that can be killed, never in the runner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/process/proc_reader.h"

namespace proctor {

struct ThreadFacts {
  int tid = 0;
  int own_tid = 0;  // in the PID namespace that the thread itself sees
  std::string name;
  char state = '?';
  std::string wchan;         // kernel function in which it sleeps, "" if it runs or this may not be read
  std::string syscall;       // number and arguments, or "running"
  std::string kernel_stack;  // root only
};

struct ProcessFacts {
  int pid = 0;
  int parent = 0;
  std::string name;
  std::string command;
  char state = '?';
  std::uint64_t resident_kib = 0;
  std::uint64_t swapped_kib = 0;
  std::string rank;                       // in a distributed job, from RANK and similar variables
  std::vector<std::string> device_nodes;  // open or mapped accelerators, sorted
  std::string cgroup;                     // path below the mount
  std::vector<ThreadFacts> threads;       // the main thread first
  bool holds_memory_lock = false;         // command, environment and mappings did not come in time
  bool may_trace = true;                  // whether stacks can be read at all
};

// The living processes below `root`, parents first; zombies do not count. At most 64.
std::vector<int> living_descendants(int root);

// A process that has ended meanwhile has no threads.
ProcessFacts read_process(ProcReader& reader, int pid);

// Memory and process figures of a cgroup, whose `path` is as in ProcessFacts: one figure a line, as in the
// kernel's files; "" without cgroup v2.
std::string cgroup_figures(const std::string& path);

// Nodes of accelerators: DRM, accel, NVIDIA, AMD.
bool is_accelerator_node(std::string_view path);

}  // namespace proctor
