// A joined run consists of many parts. Each part is a run directory below `parts/`, and the reports of the joined run
// are made from its parts (reports/merge/join.h). CTest starts each test as a separate process. The tests of one call
// of CTest find the run by the process that started them:
//
//   ROOT/20260131T120000Z-1a2b3c/parts/1/        the run directory of the first test
//   ROOT/latest -> 20260131T120000Z-1a2b3c
//   ROOT/.open-4711-88213-4026531836-4026531834 -> 20260131T120000Z-1a2b3c
//                                                for the children of process 4711. Its start time is tick 88213. Both
//                                                numbers are valid in these namespaces (PID, time)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// A file in a part without a journal. Its first line has the reason of the refusal, its second line the owner of the
// failure.
inline constexpr const char* kRefusedFile = "refused.txt";
inline constexpr const char* kRefusedByMachine = "machine";
void leave_refusal(const std::filesystem::path& part, const Error& error);

// The process that starts the parts. The start time distinguishes it from a later process with the same pid.
struct Starter {
  int pid = 0;
  std::uint64_t start_time = 0;
  std::string namespaces = own_namespaces();  // the namespaces in which both numbers are valid

  static std::string own_namespaces();
};
Starter parent_of_this_process();

// Creates a new run below `root`, and `root` itself. If `starter` has already opened a run without parts, this run is
// used again: a CTest that repeats its tests opens it more than once.
Result<std::filesystem::path> open_joined_run(const std::filesystem::path& root, const Starter& starter);

// Returns nothing if `starter` has opened no run below `root`.
std::optional<std::filesystem::path> find_joined_run(const std::filesystem::path& root,
                                                     const Starter& starter);

// Returns whether the reports of the run exist. They would not contain later parts.
bool is_closed(const std::filesystem::path& run);

// Returns the file in which the first part keeps the result of Containment::open() for the others.
std::string known_containment_of(const std::filesystem::path& run);

// Creates a new and empty directory for one more part. Later parts have higher numbers.
Result<std::filesystem::path> new_part(const std::filesystem::path& run);

// Returns "parts/1", "parts/2", ... in this order. Empty if the run is not a joined run.
std::vector<std::string> parts_of(const std::filesystem::path& run);

}  // namespace proctor
