// Reads a file that a command line or another file names. An unreadable file is a usage error. The hint is
// the most similar name in the same directory. For example:
//
//   const auto text = read_typed_file(options.known_failures);
//   // "failed to read list.toml: No such file or directory. Did you mean `lists.toml`?"
//   if (!text) return text.error();
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "harness/base/result.h"

namespace proctor {

// bytes of a configuration file or a list
inline constexpr std::uint64_t kMostNamedFile = std::uint64_t{16} << 20;
// bytes; 100,000 cases are about 100 MiB
inline constexpr std::uint64_t kMostPlanFile = std::uint64_t{2048} << 20;
inline constexpr int kPlanFileVersion = 3;  // version of the format that `run` and the gate read

inline constexpr std::chrono::milliseconds kPipeWait{30'000};  // limit for reading a whole pipe

// Reads a regular file or a pipe, for example `<(...)`. The bytes of a pipe can be read only once.
Result<std::string> read_typed_file(const std::string& path, std::uint64_t most = kMostNamedFile,
                                    std::chrono::milliseconds wait = kPipeWait);

// Reads a regular file only. The name is not from the command line, so a FIFO has no writer.
Result<std::string> read_found_file(const std::string& path, std::uint64_t most = kMostNamedFile);

}  // namespace proctor
