// Which cases of a suite share a process, and how many of those that passed there run once more alone: `--process`, and
// the key `process`.
//
//   case             a process for each case
//   file, suite      a process for the cases of a file, or for all cases
//   batch:N|auto     at most N cases in a process, or as many as leave work for all slots
//   verify:2%|off    of any of them, after a comma, or alone
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/frameworks/suite.h"

namespace proctor {

inline constexpr int kNoBatchLimit = 0;  // of process = "suite"
inline constexpr int kAutoBatch = -1;
inline constexpr int kMostInBatch = 100'000;

struct ProcessChoice {
  std::string unit{};         // "case", "file" or "suite", which batches have too; "": not given
  int batch = kNoBatchLimit;  // of the unit
  std::optional<double> verify{};

  friend bool operator==(const ProcessChoice&, const ProcessChoice&) = default;
};

// A usage error names the part and `source`: "--process", "`process`".
Result<ProcessChoice> parse_process(std::string_view text, std::string_view source);
// A valid text as a regular expression.
std::string process_form();

// Parts that are not given keep their values in the suite.
void choose_process(const ProcessChoice& choice, Suite& suite);

// How many of `left` cases the next process takes. `auto` leaves work for all `slots`, so that the tail of a run is as
// parallel as its beginning: left / (2 slots), from 16 to 500. At least one.
std::size_t batch_size(int batch, std::size_t left, int slots);

inline constexpr double kUsualShare = 2;  // percent
inline constexpr double kWholeShare = 100;

}  // namespace proctor
