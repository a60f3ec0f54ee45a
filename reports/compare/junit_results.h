// Reads a JUnit file of any runner as a run: of GoogleTest, CTest, pytest, Surefire, nextest or Proctor. The file does
// not contain devices, stack or sources, so its cases have the unknown variant (comparison.h).
//
// A case is identified by its classname and its name (JunitIds). A repeated case is another case with the id `name #2`.
//
//   of its testcase                                          outcome
//   error, failure                                           error, fail; or OUTCOME of type="proctor.OUTCOME"
//   skipped                                                  skip; with type="pytest.xfail" xfail; or OUTCOME of a
//                                                            message that begins with "proctor.OUTCOME"
//   status or result: notrun, disabled, suppressed, ...      skip
//   flakyFailure, flakyError                                 pass, and flaky
//   otherwise                                                pass
//
// The file is not trusted. A file above the limits below, or one that declares entities, is refused, and entities are
// not expanded. Example:
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
inline constexpr int kMostJunitDepth = 64;  // nesting of suites

// Assigns an id to each case: "classname.name", or only the name if the classname adds
// nothing. A repeated id gets a number.
class JunitIds {
 public:
  std::string next(std::string_view classname, std::string_view name);

 private:
  std::unordered_set<std::string> given_;
  std::unordered_map<std::string, int> uses_;  // by the id without its number
};

// Reads a file. Each error is a usage error with the place in the file.
Result<RunResults> load_junit(const std::string& path);
// `name` is the name of the file in messages.
Result<RunResults> parse_junit(std::string text, const std::string& name);

}  // namespace proctor
