// How long each case takes, for those who decide what runs first or what runs where.
//
//   const auto medians = median_durations(history);
//   if (medians) std::printf("%g ms\n", medians->at("memory.xpu/Copy.OddAddressesAreByteExact"));
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "reports/history/history.h"

namespace proctor {

// The median duration of each case in ms, by its id as it is called today, over its newest `newest` results (at least
// one) of all branches and variants. A case counts with all its attempts. Results of cases that were skipped or not run
// do not count; a case without any other has no entry. Failures: those of History.
//
// Reads runs from the newest on, and stops as soon as it has enough of each case, or has read twice as many results as
// that would be: a case that no recent run had may have no entry.
Result<std::map<std::string, double>> median_durations(History& history, std::size_t newest = 10);

}  // namespace proctor
