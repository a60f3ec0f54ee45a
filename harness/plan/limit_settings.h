// The limits of cases: keys of [defaults], [defaults.KIND], [suite.NAME], [[override]] and [profile.NAME].
// Each limit is one row of limit_settings(). The rows define the reader of the file, its JSON schema, the
// options that replace a key, and the plan file. A new limit needs a member of Limits and of CasePolicy, a
// row in limit_settings.cc, and a comment in defaults.toml.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/toml_reader.h"
#include "harness/frameworks/suite.h"
#include "harness/plan/concurrency_groups.h"
#include "harness/request/run_request.h"

namespace proctor {

// The limits that one table sets. A limit that the table does not set is nullopt.
struct Limits {
  // "off" is an empty inner optional, also for the next three
  std::optional<std::optional<Milliseconds>> timeout;
  std::optional<std::optional<Milliseconds>> stall;
  std::optional<std::optional<Milliseconds>> startup{};
  std::optional<std::optional<Milliseconds>> shutdown{};
  std::optional<Milliseconds> grace;
  std::optional<int> retries;
  std::optional<bool> leaks_fail;
  std::optional<std::string> group{};  // name of a group in Config::groups; "": no group
};

template <typename T>
struct LimitPlace {
  std::optional<T> Limits::*in_table;
  T CasePolicy::*in_policy;
};

// One row: a limit, its key and its option.
struct LimitSetting {
  std::string key;
  std::variant<LimitPlace<std::optional<Milliseconds>>, LimitPlace<Milliseconds>, LimitPlace<int>,
               LimitPlace<bool>, LimitPlace<std::string>>
      value;
  std::optional<std::string> LimitOptions::*typed = nullptr;  // option that replaces the key; null: no option
  std::string in_plan;                                        // member name in a plan file
  bool omitted_at_default = false;  // omits default values, so that digests of older plans stay the same
};

// Returns the settings in the order in which a table is read.
const std::vector<LimitSetting>& limit_settings();
bool is_set(const LimitSetting& setting, const Limits& limits);
// Replaces the values that `limits` sets.
void overlay(const Limits& limits, CasePolicy& policy);

// Reads the keys of a table of `file`. The group that the table names is recorded in `groups`.
void read_limits(TableReader& reader, const std::string& file, ConcurrencyGroups& groups, Limits& limits);
std::optional<Error> read_limit_options(const LimitOptions& options, Limits& limits);

}  // namespace proctor
