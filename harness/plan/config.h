// The contents of proctor.toml. load_config() reads the file in layers. For each key, the first of these that sets it wins:
//
//   options  >  [profile.NAME]  >  [[override]] (the last that matches)  >  [suite.NAME]
//            >  [defaults.KIND], [defaults] of the project file  >  of the user file
//            >  embedded defaults.toml
//
// A suite that several files have is merged key by key. Overrides of the user file come before those of the
// project file. Every mistake is a usage error that names file, line, value and the near miss.
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

struct Override {
  std::string match;  // glob over the id
  Limits limits;
  std::string origin;  // "proctor.toml:12"
};

// A suite as configured. `suite.policy` is not filled in yet: it may depend on a kind
// that is recognised later.
struct SuiteConfig {
  Suite suite;
  const Kind* kind = nullptr;  // null: to be recognised from the command
  Limits limits;
  // "suite" or "framework"; "" = as the other suites let it be (planner.h).
  std::string junit_classname{};
  bool built_in = false;
};

// A suite that comes with Proctor. Several may share a name if their backends differ. A file may tune it
// (limits, devices, env, labels) but not redefine it.
struct BuiltinSuite {
  std::string name;
  Backend backend = Backend::kNone;
  std::vector<std::string> command;
  const Kind* kind = &proctor_kind();
  int devices = 0;
  std::vector<std::string> labels;
  std::map<std::string, std::string> env;
};

struct Config {
  std::vector<SuiteConfig> suites;  // built-in ones first, then in order of appearance
  std::vector<DefaultsLayer> defaults;
  std::vector<Override> overrides;
  std::vector<WrittenOff> skips;  // of the project file
  ConcurrencyGroups groups;
  RunRequest run;  // the keys of [run], merged
  Limits profile;
  Limits options;
  std::vector<InputFile> files;                     // the files that were read, weakest first
  std::vector<Warning> warnings;                    // of those that were not
  std::string directory;                            // as in ConfigOptions
  std::map<std::string, std::string> profile_env;   // [profile.NAME.env]
  std::map<std::string, std::string> defaults_env;  // [defaults.env], merged
};

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

// The JSON schema of proctor.toml, draft 7, which editors read. It is made of what the reader of the file asks for
// (config_tables.cc) and of the comments of defaults.toml. What depends on several keys or files only the reader knows.
std::string config_schema();

}  // namespace proctor
