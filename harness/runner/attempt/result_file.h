// Reads the file to which a program of another framework writes its results. The program may replace it by anything. A
// file that is not a regular file is not opened for reading, because that could block. The size is limited to the
// memory of the runner.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/result.h"

namespace proctor {

inline constexpr std::uint64_t kMostResult = 64 * 1024 * 1024;

// The content of a result file, or why it was not read.
struct ResultText {
  std::string text;  // "": the file does not exist or is refused
  std::string
      refused;  // why it is not read: "its result file is not a regular file"; "" also if it does not exist
};

ResultText read_result_file(const std::string& path, std::uint64_t most = kMostResult);

}  // namespace proctor
