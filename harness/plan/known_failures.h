// The list of known failures, each valid only for the configurations that it names. Outdated entries become
// visible. A pass becomes xpass. A failure with another reason stays a failure. An expired entry only causes
// a warning. known_failures_check.h has the stricter rules for a release. A predicted failure was never
// measured: a pass stays a pass, with a warning.
//
//   [[known_failure]]
//   case     = "visibility.xpu/AffinityMask.*"          # glob over the id, or a list of them
//   outcome  = "fail"                              # optional, this is the default
//   reason   = "driver_crash:*"                    # glob over the reason
//   backend  = "xpu"                               # optional
//   device   = "*B580*"                            # optional: glob over the model of a device that the case had
//   driver   = "xpu.driver"                        # optional, with versions: a key of the run's stack
//   versions = ">=22.43, <22.44"                   # all must hold; = >= <= > <, dotted numbers
//   source   = "where it is known from"            # may be left out where there is an issue
//   issue    = "https://..."                       # optional
//   owner    = "name"                              # optional
//   added    = 2027-04-30                          # optional
//   expires  = 2027-06-30                          # the last day on which it holds
//   broad    = true                                # optional: it is meant to match many cases
//   predicted = true                               # optional: from reading the driver, not from a run
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/result.h"
#include "harness/base/version.h"
#include "harness/journal/events.h"
#include "harness/journal/outcome.h"

namespace proctor {

// One entry of the list.
struct KnownFailure {
  std::vector<std::string> cases;  // globs for case ids
  Outcome outcome = Outcome::kFail;
  std::string reason_glob;
  std::string backend;  // "": any
  std::string device;   // "": any
  std::string driver;   // "": any
  VersionRange versions;
  std::string source;
  std::string issue;
  std::string owner;
  std::optional<Day> added;
  Day expires{};
  bool broad = false;
  bool predicted = false;
  std::string origin;  // "known_failures.toml:12"
  int line = 0;

  // whether a glob matches any current or former name of the case
  bool names(std::string_view case_id) const;
  std::string cases_text() const;  // "`a.xpu/*`", "`a/b` and 3 more"
};

KnownFailureEntry to_event(const KnownFailure& entry);

// The environment of a case, as far as entries can refer to it.
struct Surroundings {
  std::map<std::string, std::string> stack{};
  std::string backend{};
  std::vector<std::string> models{};  // models of the devices of the case
};

// The entries of a list, in file order.
class KnownFailures {
 public:
  KnownFailures() = default;
  explicit KnownFailures(std::vector<KnownFailure> entries) : entries_(std::move(entries)) {}

  // Returns the first entry in file order that applies to the case in its environment and has not expired, or
  // null.
  const KnownFailure* match(std::string_view case_id, const Surroundings& where, Day today) const;

  // Returns a warning for each entry that has expired or matches none of the ids.
  std::vector<Warning> warnings(const std::vector<std::string>& planned_ids, Day today) const;

  const std::vector<KnownFailure>& entries() const { return entries_; }

 private:
  std::vector<KnownFailure> entries_;
};

// Returns the outcomes that an entry can expect.
const std::vector<Outcome>& outcomes_of_failures();

Result<KnownFailures> load_known_failures(const std::string& path);
// Parses a list. `name` is the file name in messages.
Result<KnownFailures> parse_known_failures(std::string_view text, const std::string& name);

// Applies an entry. The expected outcome with the expected reason becomes xfail. A pass becomes xpass, unless
// the failure was only predicted. Every other verdict stays the same, also if `known` is null.
Verdict apply(const KnownFailure* known, const Verdict& verdict);

// Returns the warning about a case that passed although its failure was predicted, or "". The warning
// requests a report of the result.
std::string unmet_prediction(const KnownFailure* known, const Verdict& verdict, std::string_view case_id,
                             const Surroundings& where);

// Returns the current day in UTC.
Day today_utc();

}  // namespace proctor
