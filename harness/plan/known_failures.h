// The list of failures that are known, and only on the drivers where they are known. An entry that no longer
// holds shows itself: a pass becomes xpass, another reason stays red, an expired entry only warns.
//
//   [[known_failure]]
//   case     = "visibility.xpu/MaskRow.*"          # glob over the id
//   outcome  = "fail"                              # optional, this is the default
//   reason   = "driver_crash:*"                    # glob over the reason
//   driver   = "xpu.driver"                        # optional, with versions: a key of the run's stack
//   versions = ">=22.43, <22.44"                   # all must hold; = >= <= > <, dotted numbers
//   source   = "https://..."                       # where it is known from
//   owner    = "name"                              # optional
//   expires  = 2027-06-30                          # the last day on which it holds
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/outcome.h"
#include "harness/core/result.h"
#include "harness/core/version.h"

namespace proctor {

using Day = std::chrono::year_month_day;

struct KnownFailure {
  std::string case_glob;
  Outcome outcome = Outcome::kFail;
  std::string reason_glob;
  std::string driver;  // "" = any
  VersionRange versions;
  std::string source;
  std::string owner;
  Day expires{};
  std::string origin;  // "known_failures.toml:12"
};

class KnownFailures {
 public:
  KnownFailures() = default;
  explicit KnownFailures(std::vector<KnownFailure> entries) : entries_(std::move(entries)) {}

  // The first entry, in the order of the file, that holds for the case on this stack and has not expired.
  std::optional<KnownFailure> match(std::string_view case_id, const std::map<std::string, std::string>& stack,
                                    Day today) const;

  // One warning for each entry that has expired or matches none of the ids.
  std::vector<Warning> warnings(const std::vector<std::string>& planned_ids, Day today) const;

  const std::vector<KnownFailure>& entries() const { return entries_; }

 private:
  std::vector<KnownFailure> entries_;
};

Result<KnownFailures> load_known_failures(const std::string& path);
// `name` stands for the file in messages.
Result<KnownFailures> parse_known_failures(std::string_view text, const std::string& name);

// expected outcome with expected reason -> xfail; pass -> xpass; everything else stays as it is, also if
// `known` is null.
Verdict apply(const KnownFailure* known, const Verdict& verdict);

// The current day in UTC.
Day today_utc();

}  // namespace proctor
