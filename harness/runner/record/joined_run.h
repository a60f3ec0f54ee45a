// One run that is made of many: each part is a run directory of its own below `parts/`, and the reports of the whole are
// made of theirs (reports/merge/join.h). CTest starts each test as a process of its own, so the tests of one call find each
// other by the process that started them:
//
//   ROOT/20260131T120000Z-1a2b3c/parts/1/        the run directory of the first test
//   ROOT/latest -> 20260131T120000Z-1a2b3c
//   ROOT/.open-4711-88213-4026531836-4026531834 -> 20260131T120000Z-1a2b3c
//                                                for what process 4711 starts, which began at tick 88213, by the pids and
//                                                the clock of these namespaces (PID, time)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// In a part without a journal: why it was refused, in one line, and in a second one whose fault that is.
inline constexpr const char* kRefusedFile = "refused.txt";
inline constexpr const char* kRefusedByMachine = "machine";
void leave_refusal(const std::filesystem::path& part, const Error& error);

// Who starts the parts. Another process that gets the same pid later is somebody else.
struct Starter {
  int pid = 0;
  std::uint64_t start_time = 0;
  std::string namespaces = own_namespaces();  // in which the numbers above mean something

  static std::string own_namespaces();
};
Starter parent_of_this_process();

// A new run below `root`, which is created. One that `starter` has opened before and that has no part yet is taken
// again: a CTest that repeats its tests opens it more than once.
Result<std::filesystem::path> open_joined_run(const std::filesystem::path& root, const Starter& starter);

// None: `starter` has opened none below `root`.
std::optional<std::filesystem::path> find_joined_run(const std::filesystem::path& root,
                                                     const Starter& starter);

// Whether its reports are there: what comes later would not be in them.
bool is_closed(const std::filesystem::path& run);

// The file in which the parts keep what the first of them found out about containment (Containment::open()).
std::string known_containment_of(const std::filesystem::path& run);

// A new and empty directory for one more part. Later parts have higher numbers.
Result<std::filesystem::path> new_part(const std::filesystem::path& run);

// "parts/1", "parts/2", ... in this order; empty where it is no such run.
std::vector<std::string> parts_of(const std::filesystem::path& run);

}  // namespace proctor
