// Reads the tables of one configuration file into the layers of Config. Internal to harness/plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/toml_reader.h"
#include "harness/plan/config.h"
#include "harness/request/run_request.h"

namespace proctor {

// The file whose tables are read.
struct FileContext {
  std::string name;              // file name in messages
  std::string directory;         // start directory of its suites
  AskedTables* asked = nullptr;  // output for config_schema(), or null
  bool run_alone = false;        // reads only [run] and [profile.NAME.run]
  bool of_user = false;          // true: the user file, which cannot exclude cases
};

// One table [profile.NAME].
struct Profile {
  Limits limits{};
  std::map<std::string, std::string> env{};
  RunRequest run{};
};

std::optional<Error> add_tables(const toml::table& root, const FileContext& file, Config& config,
                                std::map<std::string, Profile>& profiles);

bool is_suite_name(std::string_view name);

// Returns the keys of a table, sorted. `table` is "", "run", "defaults", "suite", "override", "skip", "group"
// or "profile".
std::vector<std::string> config_keys(std::string_view table);

}  // namespace proctor
