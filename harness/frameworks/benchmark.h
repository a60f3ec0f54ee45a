// Google Benchmark programs, version 1.5 and later.
//
//   list   CMD --benchmark_list_tests=true: one name per line of stdout, amid what else the program says there
//   run    CMD --benchmark_filter=^NAME$ --benchmark_out=FILE --benchmark_out_format=json
//
// The library reads a variable BENCHMARK_X wherever it reads an option --benchmark_x. The option wins, and of
// two the last one. So everything that decides which benchmarks run, and where their figures go, is said in
// the command. A filter in the suite's own command restricts the list and nothing else.
//
// Each number that the file has about a benchmark becomes a measure: the times, the iterations, the user's
// counters. Its value is the mean over the `n` repetitions, its spread their standard deviation (divided by
// n - 1, as the library does it). Both are computed from the single repetitions; only where the program
// withholds these (ReportAggregatesOnly()), they are the library's rows `mean` and `stddev`. Its other rows
// (median, cv, BigO, RMS) are left out: a case has one size, so that nothing can be said of complexity.
//
// A program exits with 0 whatever came of its benchmarks. A case has failed when a repetition reported an
// error or did no iteration, and when a figure is not a finite number: something divided by zero there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& benchmark_kind();

// ---- for the tests

struct BenchmarkList {
  std::vector<std::string> names;
  std::vector<std::string> chatter;  // lines that were taken for something else
};

// Nothing but its form tells a name from the words that a program writes before or after its list. A name may
// have a blank within brackets or quotes (`BM_copy<unsigned int>/8`). A line with a blank elsewhere is a name
// only between two lines that have none.
BenchmarkList parse_benchmark_list(std::string_view text);

// An extended regular expression of POSIX that matches `name` and nothing else. That is the grammar of the
// library on all systems, whether std::regex or regcomp() reads it.
std::string benchmark_filter_for(std::string_view name);

}  // namespace proctor
