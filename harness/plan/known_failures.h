// The list of failures that are known, and only where they are known. An entry that no longer holds shows itself: a pass
// becomes xpass, another reason stays red, an expired entry only warns. What a list must be to release anything by it is
// known_failures_check.h's. A predicted failure was never measured: its pass stays a pass, with a warning.
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

struct KnownFailure {
  std::vector<std::string> cases;  // globs
  Outcome outcome = Outcome::kFail;
  std::string reason_glob;
  std::string backend;  // "" = any
  std::string device;   // "" = any
  std::string driver;   // "" = any
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

  bool names(std::string_view case_id) const;  // one of its globs does, by any name that the case ever had
  std::string cases_text() const;              // "`a.xpu/*`", "`a/b` and 3 more"
};

KnownFailureEntry to_event(const KnownFailure& entry);

// Where a case ran, as far as an entry may ask.
struct Surroundings {
  std::map<std::string, std::string> stack{};
  std::string backend{};
  std::vector<std::string> models{};  // of the devices that it had
};

class KnownFailures {
 public:
  KnownFailures() = default;
  explicit KnownFailures(std::vector<KnownFailure> entries) : entries_(std::move(entries)) {}

  // The first entry, in the order of the file, that holds for the case where it ran and has not expired; or null.
  const KnownFailure* match(std::string_view case_id, const Surroundings& where, Day today) const;

  // One warning for each entry that has expired or matches none of the ids.
  std::vector<Warning> warnings(const std::vector<std::string>& planned_ids, Day today) const;

  const std::vector<KnownFailure>& entries() const { return entries_; }

 private:
  std::vector<KnownFailure> entries_;
};

// The outcomes that an entry may expect.
const std::vector<Outcome>& outcomes_of_failures();

Result<KnownFailures> load_known_failures(const std::string& path);
// `name` stands for the file in messages.
Result<KnownFailures> parse_known_failures(std::string_view text, const std::string& name);

// expected outcome with expected reason -> xfail; pass -> xpass, unless the failure was only predicted. Every other verdict
// stays the same, also if `known` is null.
Verdict apply(const KnownFailure* known, const Verdict& verdict);

// The warning about a case that passed although its failure was predicted, or "". It requests a report of the result.
std::string unmet_prediction(const KnownFailure* known, const Verdict& verdict, std::string_view case_id,
                             const Surroundings& where);

// The current day in UTC.
Day today_utc();

}  // namespace proctor
