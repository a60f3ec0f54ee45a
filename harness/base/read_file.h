// Reads a whole regular file as bytes. FIFOs, devices and sockets are refused without blocking, and the size
// is limited, because another user or a test can create the file. The last part of `path` may be a link;
// regular_file.h refuses links. named_file.h also reads pipes that the user names.
//
// The functions do not use std::ifstream, which throws if opening succeeds and reading fails. This happens
// with files below /proc whose process ends in between. Example:
//
//   const Result<std::string> text = read_file("/proc/self/status");
//   if (!text) std::fprintf(stderr, "failed to %s\n", text.error().what.c_str());
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

inline constexpr std::uint64_t kMostFile = 2'000'000'000;

// The limit applies while reading, because a file can grow and its size can be wrong.
Result<std::string> read_file(const std::string& path, std::uint64_t most = kMostFile);

// Returns "" if the file is missing or cannot be read.
std::string read_file_or_empty(const std::string& path);

// Opens the file for callers that read only a part of it.
Result<UniqueFd> open_file(const std::string& path, std::uint64_t most = kMostFile);
// Reads the remaining bytes of `fd`, at most `most` bytes. Messages name it `path`.
Result<std::string> read_rest(int fd, const std::string& path, std::uint64_t most);

}  // namespace proctor
