// The file in which a program of another framework tells its results. The program may put anything in its place: what is
// no regular file is not opened for reading, which could wait for ever, and no more is read than the runner can hold.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/result.h"

namespace proctor {

inline constexpr std::uint64_t kMostResult = 64 * 1024 * 1024;

struct ResultText {
  std::string text;  // "": there is none
  std::string
      refused;  // why it is not read: "its result file is not a regular file"; "" also where there is none
};

ResultText read_result_file(const std::string& path, std::uint64_t most = kMostResult);

}  // namespace proctor
