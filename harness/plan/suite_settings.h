// The settings of a suite. Each has one row. The reader of [suite.NAME] and its JSON schema (config_tables.h), the options that
// replace a key (suite_options.h), `proctor exec` (opaque.h) and the plan file are made of the rows. Limits have rows of their own
// (limit_settings.h). To add a setting: a member of Suite, a row in suite_settings.cc, and its comment in defaults.toml. An
// option also has its row in the table of options (harness/request/option.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/toml_reader.h"
#include "harness/plan/config.h"
#include "harness/request/run_request.h"

namespace proctor {

// A table [suite.NAME] that is being read.
struct SuiteTable {
  TableReader& reader;
  const std::string& origin;     // "proctor.toml:12"
  const std::string& directory;  // of the file
  SuiteConfig& config;
};

using SuiteMember =
    std::variant<std::monostate, bool Suite::*, int Suite::*, std::uint64_t Suite::*, double Suite::*,
                 std::string Suite::*, std::vector<std::string> Suite::*,
                 std::map<std::string, std::string> Suite::*, const Kind * Suite::*, Backend Suite::*>;

// The option that replaces the setting in all suites for which it counts.
struct SuiteOption {
  std::string name{};                                                    // "--mask"; "": none
  std::vector<std::string> (*typed)(const SelectionOptions&) = nullptr;  // empty: not given
  Result<void> (*put)(const std::string& text, Suite& suite) = nullptr;  // its error names the option
  // The error where it counts for no suite: "--mask uuid has no effect: " and these words.
  std::string no_suite{};
  std::string hint{};
  bool judged_last = false;  // also when the devices of all suites are known
  // Refuses it for the command of `exec` whose devices are known. `option` is "--mask uuid".
  Result<void> (*check_command)(const std::string& option, const std::string& text,
                                const Suite& suite) = nullptr;
};

struct SuiteSetting {
  std::string key{};     // of [suite.NAME]; "": none
  SuiteMember member{};  // none: of SuiteConfig
  // The range of a number, and the values of a text.
  int least = 0;
  int most = 0;
  std::vector<std::string> choices{};
  void (*read)(const char* key, SuiteTable& table) = nullptr;  // where the type of the member is not enough
  bool fixed_if_built_in = false;                              // a file cannot change it in a built-in suite
  // The suites that use the value; null: all. `text` is of the option.
  bool (*counts)(const Suite& suite, const std::string& text) = nullptr;
  std::string hint_if_unused{};  // a key that does not count is refused with it; "": it is ignored
  SuiteOption option{};
  std::string in_plan{};            // the member of a plan file; "": none
  bool omitted_at_default = false;  // so that plans from before the member have the digest that they had
  // Its part of the digest of a plan, if it changes what the cases do: "--mem-cap=4G"; "": none.
  std::string (*in_digest)(const Suite& suite) = nullptr;
};

// In the order in which a table is read.
const std::vector<SuiteSetting>& suite_settings();

// Calls `use` with the pointer to the member, if the setting has one.
template <typename Use>
void with_member(const SuiteSetting& setting, const Use& use) {
  std::visit(
      [&](auto member) {
        if constexpr (!std::is_same_v<decltype(member), std::monostate>) use(member);
      },
      setting.member);
}

// Reads the keys of a table, without its limits.
void read_suite_settings(SuiteTable& table);
// Merges the key `env` of a table into `env`.
void read_env(TableReader& reader, std::map<std::string, std::string>& env);
// Returns why a suite, or --env, cannot set the variable.
std::optional<Error> variable_problem(const std::string& name, const std::string& value);

}  // namespace proctor
