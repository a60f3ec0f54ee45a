// Finds shared memory that outlives its processes: files in /dev/shm and System V segments. A killed process does not
// remove its shared memory. It can fill the memory until every later case fails. The kernel does not record which case
// created it, so a warning names it, and Proctor does not remove it.
// warning names them, and Proctor does not remove them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/process/process_spec.h"

namespace proctor {

// One file or segment of shared memory, and the command that removes it.
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

// Returns the shared memory of this user that was created since `begin` and that no process has open, mapped or
// attached.
std::vector<SharedMemory> unheld_shared_memory(std::chrono::system_clock::time_point begin,
                                               const SharedMemoryPlaces& places = {});

// Returns the warning after a case that ended by a signal. Another program of the user may have created the files at
// that time.
std::optional<Warning> shared_memory_left(const ProcessEnd& end, const std::string& case_id,
                                          const SharedMemoryPlaces& places = {});

}  // namespace proctor
