// A core as the kernel wrote it: whose it is, and how it comes into the run directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/core/result.h"

namespace proctor {

struct CoreFacts {
  int pid = 0;          // as the process saw itself
  std::string program;  // its executable; "" when the core does not say it
};

// None for what is no core of this kind of machine. The file may hold anything.
std::optional<CoreFacts> read_core(const std::string& path);

// The newest core of that process that the glob finds and that was written at `since` or later, in seconds of
// Unix time; "" when there is none.
std::string find_core(const std::string& glob, int pid, std::int64_t since);

// What it takes on the disk, which is less than its length where it has holes.
std::uint64_t bytes_on_disk(const std::string& path);

// Renames it, or copies it to another file system with its holes.
Result<void> move_core(const std::string& from, const std::string& to);

}  // namespace proctor
