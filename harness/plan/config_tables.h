// The tables of one configuration file, read into the layers of Config. Internal to harness/plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"
#include "harness/core/toml_reader.h"
#include "harness/plan/config.h"
#include "harness/request/run_request.h"

namespace proctor {

struct FileContext {
  std::string name;              // for messages
  std::string directory;         // where its suites are started
  AskedTables* asked = nullptr;  // for config_schema()
  bool run_alone = false;        // only [run] is read, and [profile.NAME.run]
  bool of_user = false;          // the user's own file: it leaves no case out
};

struct Profile {
  Limits limits{};
  std::map<std::string, std::string> env{};
  RunRequest run{};
};

std::optional<Error> add_tables(const toml::table& root, const FileContext& file, Config& config,
                                std::map<std::string, Profile>& profiles);

// Why a suite, or --env, cannot set the variable; none if it can.
std::optional<Error> variable_problem(const std::string& name, const std::string& value);

bool is_suite_name(std::string_view name);

// --mem-cap, for a suite with a backend. "" changes nothing.
Result<void> read_mem_cap_option(const std::string& typed, Suite& suite);
// --timeout, --grace, --stall, --retries, --leaks.
std::optional<Error> read_limit_options(const LimitOptions& options, Limits& limits);

// The keys that a table understands, sorted. The table is "", "run", "defaults", "suite", "override",
// "skip", "group" or "profile".
std::vector<std::string> config_keys(std::string_view table);

}  // namespace proctor
