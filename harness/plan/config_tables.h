// The tables of one configuration file, read into the layers of Config. Internal to harness/plan.
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

bool is_suite_name(std::string_view name);

// The keys that a table understands, sorted. The table is "", "run", "defaults", "suite", "override",
// "skip", "group" or "profile".
std::vector<std::string> config_keys(std::string_view table);

}  // namespace proctor
