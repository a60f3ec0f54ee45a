// Reads proctor.toml in layers. For each key, the first of these that sets it wins:
//
//   options  >  [profile.NAME]  >  [[override]] (the last that matches)  >  [suite.NAME]
//            >  [defaults.KIND], [defaults] of the project file  >  of the user file
//            >  embedded defaults.toml
//
// A suite that several files have is merged key by key. Overrides of the user file come before those of the
// project file. Every mistake is a usage error that names file, line, value and the near miss.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/config.h"
#include "harness/request/run_request.h"

namespace proctor {

// One text of a configuration, and whose it is.
struct ConfigText {
  std::string name;       // for messages
  std::string directory;  // where its suites are started
  std::string text;
  bool of_user = false;
};

// The texts, the weakest first: the embedded defaults, the user's file, the project file.
struct ConfigFiles {
  ConfigOptions where{};
  std::vector<ConfigText> texts{};
  std::vector<InputFile> files{};   // that were read
  std::vector<Warning> warnings{};  // about those that were not
};
Result<ConfigFiles> read_config_files(const ConfigOptions& where);

Result<Config> config_of(const ConfigFiles& files, const LimitOptions& limits,
                         const std::vector<BuiltinSuite>& builtins);
Result<Config> load_config(const ConfigOptions& where, const LimitOptions& limits,
                           const std::vector<BuiltinSuite>& builtins);

// Reads the keys of [run] and of the profile's. It finds no mistakes in other tables.
Result<RunRequest> load_run_keys(const ConfigFiles& files);

// The policy of the case `id` of `suite`. With an empty `id`, the policy of the suite itself, without
// overrides.
CasePolicy resolve_policy(const Config& config, const SuiteConfig& suite, const Kind* kind,
                          std::string_view id);

// $XDG_CONFIG_HOME/proctor/proctor.toml or ~/.config/proctor/proctor.toml, or "" when neither variable is of
// use. A relative XDG_CONFIG_HOME is ignored, as the XDG base directory specification says. Either argument
// may be null.
std::string user_config_file(const char* xdg_config_home, const char* home);

// The text of defaults.toml, from which docs/internals/site/config_page.py makes the reference page of keys.
std::string_view embedded_defaults();

}  // namespace proctor
