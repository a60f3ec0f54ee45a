// The settings of a suite. Each setting is one row of suite_settings(). The rows define the reader of
// [suite.NAME] and its JSON schema (config_tables.h), the options that replace a key (suite_options.h),
// `proctor exec` (opaque.h) and the plan file. limit_settings.h has the rows of limits. A new setting needs a
// member of Suite, a row in suite_settings.cc, and a comment in defaults.toml. An option also needs a row in
// the table of options (harness/request/option.h).
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
  const std::string& directory;  // directory of the file
  SuiteConfig& config;
};

using SuiteMember =
    std::variant<std::monostate, bool Suite::*, int Suite::*, std::uint64_t Suite::*, double Suite::*,
                 std::string Suite::*, std::vector<std::string> Suite::*,
                 std::map<std::string, std::string> Suite::*, const Kind * Suite::*, Backend Suite::*>;

// The option that replaces the setting in all suites to which it applies.
struct SuiteOption {
  std::string name{};                                                    // "--mask"; "": no option
  std::vector<std::string> (*typed)(const SelectionOptions&) = nullptr;  // returns the typed texts
  Result<void> (*put)(const std::string& text, Suite& suite) = nullptr;  // its error names the option
  // Text after "--mask uuid has no effect: " if the option applies to no suite.
  std::string no_suite{};
  std::string hint{};
  bool judged_last = false;  // checks again when the devices of all suites are known
  // Refuses the option for the command of `exec`, whose devices are known. `option` is "--mask uuid".
  Result<void> (*check_command)(const std::string& option, const std::string& text,
                                const Suite& suite) = nullptr;
};

// One row: a setting, its key, its option and its member in a plan file.
struct SuiteSetting {
  std::string key{};     // key of [suite.NAME]; "": no key
  SuiteMember member{};  // none: the value is in SuiteConfig
  // The range of a number, and the valid values of a text.
  int least = 0;
  int most = 0;
  std::vector<std::string> choices{};
  // needed if the member's type is not sufficient
  void (*read)(const char* key, SuiteTable& table) = nullptr;
  bool fixed_if_built_in = false;  // a file cannot change it in a built-in suite
  // Returns whether the suite uses the value; null: all suites do. `text` is the option's text.
  bool (*counts)(const Suite& suite, const std::string& text) = nullptr;
  std::string hint_if_unused{};  // hint if an unused key is refused; "": it is ignored
  SuiteOption option{};
  std::string in_plan{};            // member name in a plan file; "": none
  bool omitted_at_default = false;  // omits default values, so that digests of older plans stay the same
  // Returns the setting's part of the digest of a plan, if it changes the behaviour of cases: "--mem-cap=4G";
  // "": none.
  std::string (*in_digest)(const Suite& suite) = nullptr;
};

// Returns the settings in the order in which a table is read.
const std::vector<SuiteSetting>& suite_settings();

// Calls `use` with the pointer to the member, if the setting has a member.
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
