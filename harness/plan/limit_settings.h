// The limits of cases: keys of [defaults], [defaults.KIND], [suite.NAME], [[override]] and [profile.NAME]. Each has one row. The
// reader of the file and its JSON schema, the options that replace a key, and the plan file are made of the rows. To add a
// limit: a member of Limits and of CasePolicy, a row in limit_settings.cc, and its comment in defaults.toml.
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

// The limits that one table sets. A limit that it does not set is nullopt.
struct Limits {
  std::optional<std::optional<Milliseconds>> timeout;  // "off" sets it to an empty optional; so of these:
  std::optional<std::optional<Milliseconds>> stall;
  std::optional<std::optional<Milliseconds>> startup{};
  std::optional<std::optional<Milliseconds>> shutdown{};
  std::optional<Milliseconds> grace;
  std::optional<int> retries;
  std::optional<bool> leaks_fail;
  std::optional<std::string> group{};  // of Config::groups; "": none
};

template <typename T>
struct LimitPlace {
  std::optional<T> Limits::*in_table;
  T CasePolicy::*in_policy;
};

struct LimitSetting {
  std::string key;
  std::variant<LimitPlace<std::optional<Milliseconds>>, LimitPlace<Milliseconds>, LimitPlace<int>,
               LimitPlace<bool>, LimitPlace<std::string>>
      value;
  std::optional<std::string> LimitOptions::*typed = nullptr;  // the option that replaces the key; null: none
  std::string in_plan;                                        // the member of a plan file
  bool omitted_at_default = false;  // so that plans from before the member have the digest that they had
};

// In the order in which a table is read.
const std::vector<LimitSetting>& limit_settings();
bool is_set(const LimitSetting& setting, const Limits& limits);
// Replaces what `limits` sets.
void overlay(const Limits& limits, CasePolicy& policy);

// Reads the keys of a table of `file`. `groups` learns which group the table names.
void read_limits(TableReader& reader, const std::string& file, ConcurrencyGroups& groups, Limits& limits);
std::optional<Error> read_limit_options(const LimitOptions& options, Limits& limits);

}  // namespace proctor
