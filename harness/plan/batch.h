// The option `--process` and the key `process`: which cases of a suite share a process, and how many passed
// cases run again alone to verify the result.
//
//   case             a process for each case
//   file, suite      a process for the cases of a file, or for all cases
//   batch:N|auto     at most N cases in a process, or a number that leaves work for all slots
//   verify:2%|off    share of the passed cases that run again alone; after a comma, or without another part
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/frameworks/suite.h"

namespace proctor {

inline constexpr int kNoBatchLimit = 0;  // value for process = "suite"
inline constexpr int kAutoBatch = -1;
inline constexpr int kMostInBatch = 100'000;

// A parsed value of `--process` or `process`.
struct ProcessChoice {
  std::string unit{};         // "case", "file" or "suite" (also for batches); "": not given
  int batch = kNoBatchLimit;  // cases in a process, or kNoBatchLimit, or kAutoBatch
  std::optional<double> verify{};

  friend bool operator==(const ProcessChoice&, const ProcessChoice&) = default;
};

// Parses a value. A usage error names the invalid part and `source`: "--process", "`process`".
Result<ProcessChoice> parse_process(std::string_view text, std::string_view source);
// Returns a regular expression for the valid values.
std::string process_form();

// Sets the parts that are given. The other parts of the suite keep their values.
void choose_process(const ProcessChoice& choice, Suite& suite);

// Returns how many of the `left` remaining cases the next process runs, at least one. `auto` leaves work for
// all `slots`, so that the end of a run is as parallel as its beginning: left / (2 slots), from 16 to 500.
std::size_t batch_size(int batch, std::size_t left, int slots);

inline constexpr double kUsualShare = 2;  // percent
inline constexpr double kWholeShare = 100;

}  // namespace proctor
