// A JUnit file of any runner as a run: what GoogleTest, CTest, pytest, Surefire and nextest write, or we. It says
// nothing of devices, stack or sources, so its cases are of the variant that is unknown (comparison.h).
//
// A case is known by its classname and its name (JunitIds). One that stands in there again is another one: `name #2`.
//
//   of its testcase                                          outcome
//   error, failure                                           error, fail; what type="proctor.OUTCOME" says
//   skipped                                                  skip; of type="pytest.xfail" xfail; what a message
//                                                            that begins with "proctor.OUTCOME" says
//   status or result: notrun, disabled, suppressed, ...      skip
//   flakyFailure, flakyError                                 pass, and flaky
//   otherwise                                                pass
//
// The file is somebody else's: what is larger than the limits below, or declares entities of its own, is refused, and no
// text is expanded. Example:
//
//   const Result<RunResults> past = load_junit("last-year/results.xml");
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "harness/base/result.h"
#include "reports/resolve/run_results.h"

namespace proctor {

inline constexpr std::size_t kMostJunitBytes = std::size_t{128} << 20;
inline constexpr std::size_t kMostJunitElements = 4'000'000;
inline constexpr std::size_t kMostJunitAttributes = 8'000'000;
inline constexpr int kMostJunitDepth = 64;  // suites within suites

// Gives each case its id: "classname.name", or the name alone where the classname says no more. An id that was given
// already gets a number.
class JunitIds {
 public:
  std::string next(std::string_view classname, std::string_view name);

 private:
  std::unordered_set<std::string> given_;
  std::unordered_map<std::string, int> uses_;  // by the id without its number
};

// Everything that is wrong with it is a usage error that says where.
Result<RunResults> load_junit(const std::string& path);
// `name` stands for the file in messages.
Result<RunResults> parse_junit(std::string text, const std::string& name);

}  // namespace proctor
