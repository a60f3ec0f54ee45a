// How many cases of a suite share a process (`batch`), and which of those that passed there run once more alone
// (`verify`).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "harness/core/result.h"
#include "harness/plan/kinds/suite.h"

namespace proctor {

inline constexpr int kNoBatchLimit = 0;  // of process = "suite"
inline constexpr int kAutoBatch = -1;
inline constexpr int kMostInBatch = 100'000;

// "auto" or a number from 1. A usage error names the value and `source`: "--batch", "`batch`".
Result<int> parse_batch(std::string_view text, std::string_view source);

// The cases of the suite share processes, as with process = "suite".
void share_process(Suite& suite, int batch);

// How many of `left` cases the next process takes. `auto` leaves work for all `slots`, so that the tail of a run is as
// parallel as its beginning: left / (2 slots), from 16 to 500. At least one.
std::size_t batch_size(int batch, std::size_t left, int slots);

inline constexpr double kUsualShare = 2;  // percent
inline constexpr double kWholeShare = 100;

// "off", or a percentage from 0 to 100: "2%", "0.5%". Returns it as a number; else as parse_batch().
Result<double> parse_verify(std::string_view text, std::string_view source);

}  // namespace proctor
