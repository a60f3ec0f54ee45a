// Google Benchmark programs, version 1.5 and later.
//
//   list   CMD --benchmark_list_tests=true: one name per line of stdout, among other output of the program
//   run    CMD --benchmark_filter=^NAME$ --benchmark_out=FILE --benchmark_out_format=json
//
// The library reads a variable BENCHMARK_X for each option --benchmark_x. The option takes precedence, and of
// two equal options the last one. Therefore the command contains every option that affects which benchmarks
// run, and where their figures are written. A filter in the suite's own command restricts only the list.
//
// Each number that the file has about a benchmark becomes a measure: the times, the iterations, the user's
// counters. Its value is the mean over the `n` repetitions, and its spread is their standard deviation
// (divided by n - 1, as in the library). Both are computed from the single repetitions. If the program
// withholds these (ReportAggregatesOnly()), they come from the library's rows `mean` and `stddev`. Its other
// rows (median, cv, BigO, RMS) are left out: a case has one size, so its complexity is unknown.
//
// A program exits with 0 regardless of its results. A case fails if a repetition reported an error or ran no
// iteration. It also fails if a figure is not a finite number, because of a division by zero.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& benchmark_kind();

// ---- for the tests

// A parsed list.
struct BenchmarkList {
  std::vector<std::string> names;
  std::vector<std::string> chatter;  // lines that do not look like names
};

// Parses a list. Only its form distinguishes a name from other output before or after the list. A name may
// have a blank within brackets or quotes (`BM_copy<unsigned int>/8`). A line with a blank elsewhere is a name
// only between two lines without one.
BenchmarkList parse_benchmark_list(std::string_view text);

// Returns a POSIX extended regular expression that matches only `name`. The library uses this grammar on all
// systems, with either std::regex or regcomp().
std::string benchmark_filter_for(std::string_view name);

}  // namespace proctor
