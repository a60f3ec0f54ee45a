// The contents of proctor.toml. load_config() reads the file in layers. For each key, the first of these
// layers that sets it takes effect:
//   options  >  [profile.NAME]  >  [[override]] (the last that matches)  >  [suite.NAME]
//            >  [defaults.KIND], [defaults] of the project file  >  of the user file
//            >  embedded defaults.toml
//
// If several files define a suite, it is merged key by key. Overrides of the user file come before those of
// the project file. Every mistake is a usage error with file, line, value and the near miss.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/suite.h"
#include "harness/journal/events.h"
#include "harness/plan/concurrency_groups.h"
#include "harness/plan/limit_settings.h"
#include "harness/plan/written_off.h"
#include "harness/request/run_request.h"

namespace proctor {

// The table [defaults] of one file, with its tables [defaults.KIND].
struct DefaultsLayer {
  Limits limits;
  std::map<const Kind*, Limits> by_kind;
};

// One table [[override]].
struct Override {
  std::string match;  // glob for the case id
  Limits limits;
  std::string origin;  // "proctor.toml:12"
};

// A suite as configured. `suite.policy` is not filled in yet, because it can depend on a kind that is
// recognised later.
struct SuiteConfig {
  Suite suite;
  const Kind* kind = nullptr;  // null: recognised later from the command
  Limits limits;
  // "suite" or "framework"; "": derived from the other suites (planner.h).
  std::string junit_classname{};
  bool built_in = false;
};

// A suite that comes with Proctor. Suites with different backends may share a name. A file may change its
// limits, devices, env and labels, but cannot redefine it.
struct BuiltinSuite {
  std::string name;
  Backend backend = Backend::kNone;
  std::vector<std::string> command;
  const Kind* kind = &proctor_kind();
  int devices = 0;
  std::vector<std::string> labels;
  std::map<std::string, std::string> env;
};

// The merged configuration of all files and options.
struct Config {
  std::vector<SuiteConfig> suites;  // built-in ones first, then in order of appearance
  std::vector<DefaultsLayer> defaults;
  std::vector<Override> overrides;
  std::vector<WrittenOff> skips;  // from the project file
  ConcurrencyGroups groups;
  RunRequest run;  // the merged keys of [run]
  Limits profile;
  Limits options;
  std::vector<InputFile> files;                     // the files that were read; the weakest layer first
  std::vector<Warning> warnings;                    // about files that were skipped
  std::string directory;                            // copy of ConfigOptions::directory
  std::map<std::string, std::string> profile_env;   // [profile.NAME.env]
  std::map<std::string, std::string> defaults_env;  // [defaults.env], merged
};

// The text of one configuration file, and its origin.
struct ConfigText {
  std::string name;       // file name in messages
  std::string directory;  // start directory of its suites
  std::string text;
  bool of_user = false;
};

// The texts of all layers, the weakest first: the embedded defaults, the user file, the project file.
struct ConfigFiles {
  ConfigOptions where{};
  std::vector<ConfigText> texts{};
  std::vector<InputFile> files{};   // the files that were read
  std::vector<Warning> warnings{};  // about files that were skipped
};
Result<ConfigFiles> read_config_files(const ConfigOptions& where);

Result<Config> config_of(const ConfigFiles& files, const LimitOptions& limits,
                         const std::vector<BuiltinSuite>& builtins);
Result<Config> load_config(const ConfigOptions& where, const LimitOptions& limits,
                           const std::vector<BuiltinSuite>& builtins);

// Reads the keys of [run] and of [profile.NAME.run]. It does not check other tables.
Result<RunRequest> load_run_keys(const ConfigFiles& files);

// Returns the policy of the case `id` of `suite`. If `id` is empty, returns the policy of the suite itself,
// without overrides.
CasePolicy resolve_policy(const Config& config, const SuiteConfig& suite, const Kind* kind,
                          std::string_view id);

// Returns $XDG_CONFIG_HOME/proctor/proctor.toml or ~/.config/proctor/proctor.toml, or "" if neither variable
// is usable. A relative XDG_CONFIG_HOME is ignored, as the XDG base directory specification requires. Either
// argument may be null.
std::string user_config_file(const char* xdg_config_home, const char* home);

// Returns the text of defaults.toml. docs/internals/site/config_page.py generates the reference page of keys
// from it.
std::string_view embedded_defaults();

// Returns the JSON schema (draft 7) of proctor.toml for editors. It is generated from the reader of the file
// (config_tables.cc) and the comments of defaults.toml. Only the reader checks conditions over several keys
// or files.
std::string config_schema();

}  // namespace proctor
