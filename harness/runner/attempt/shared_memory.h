// Shared memory that outlives its processes: files in /dev/shm and System V segments. A killed process does not remove
// its own, and they fill the memory until every later case fails. The kernel does not record which case made them, so a
// warning names them, and Proctor does not remove them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/process/process_spec.h"

namespace proctor {

struct SharedMemory {
  std::string name;  // a path, or the number of a System V segment
  std::string how_to_remove;
  std::uint64_t bytes = 0;
};

// The places to search. Unit tests use other ones.
struct SharedMemoryPlaces {
  std::string directory = "/dev/shm";
  std::string segments = "/proc/sysvipc/shm";
};

// The shared memory of this user that is new since `begin`, and that no process has open, mapped or attached.
std::vector<SharedMemory> unheld_shared_memory(std::chrono::system_clock::time_point begin,
                                               const SharedMemoryPlaces& places = {});

// The warning after a case that a signal ended. Another program of the user may have made the files at that time.
std::optional<Warning> shared_memory_left(const ProcessEnd& end, const std::string& case_id,
                                          const SharedMemoryPlaces& places = {});

}  // namespace proctor
