// Reads proctor.toml in layers. For each key, the first of these that sets it wins:
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

#include "harness/plan/options.h"
#include "harness/plan/plan.h"

namespace proctor {

inline constexpr int kMostTelemetry = 100;  // samples a second

// The limits that one table sets. A limit that it does not set is nullopt.
struct Limits {
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> grace;
  std::optional<std::optional<Milliseconds>> stall;  // "off" sets it to an empty optional
  std::optional<int> retries;
};

// The table [defaults] of one file, with its tables [defaults.KIND].
struct DefaultsLayer {
  Limits limits;
  std::map<SuiteKind, Limits> by_kind;
};

struct Override {
  std::string match;  // glob over the id
  Limits limits;
  std::string origin;  // "proctor.toml:12"
};

// What holds for a run as a whole.
struct RunPolicy {
  std::optional<int> breaker;
  std::optional<ForeignPolicy> foreign;
  std::optional<bool> reset_sick;
  std::optional<int> telemetry;  // samples a second of the devices of running cases
  std::optional<bool> flaky_passes;
  std::optional<int> flaky_budget;  // percent
};

// A suite as configured. `suite.policy` is not filled in yet: it may depend on a kind
// that is recognised later.
struct SuiteConfig {
  Suite suite;
  std::optional<SuiteKind> kind;  // none: to be recognised from the command
  Limits limits;
  bool built_in = false;
};

// A suite that comes with Proctor. Several may share a name if their backends differ. A file may tune it
// (limits, devices, env, labels) but not redefine it.
struct BuiltinSuite {
  std::string name;
  Backend backend = Backend::kNone;
  std::vector<std::string> command;
  SuiteKind kind = SuiteKind::kProctor;
  int devices = 0;
  std::vector<std::string> labels;
  std::map<std::string, std::string> env;
};

struct Config {
  std::vector<SuiteConfig> suites;  // built-in ones first, then in order of appearance
  std::vector<DefaultsLayer> defaults;
  std::vector<Override> overrides;
  RunPolicy run;  // merged: the embedded defaults set every key
  Limits profile;
  Limits options;
  std::vector<std::string> files;                   // that were read, weakest first
  std::string directory;                            // as in ConfigOptions
  std::map<std::string, std::string> profile_env;   // [profile.NAME.env]
  std::map<std::string, std::string> defaults_env;  // [defaults.env], merged
};

Result<Config> load_config(const ConfigOptions& where, const LimitOptions& limits,
                           const std::vector<BuiltinSuite>& builtins);

// The policy of the case `id` of `suite`. With an empty `id`, the policy of the suite itself, without
// overrides.
CasePolicy resolve_policy(const Config& config, const SuiteConfig& suite, SuiteKind kind,
                          std::string_view id);

// $XDG_CONFIG_HOME/proctor/proctor.toml or ~/.config/proctor/proctor.toml, or "" when neither variable is of
// use. A relative XDG_CONFIG_HOME is ignored, as the XDG base directory specification says. Either argument
// may be null.
std::string user_config_file(const char* xdg_config_home, const char* home);

// The text of defaults.toml, which is also the reference page.
std::string_view embedded_defaults();

// The keys that a table understands, sorted. The table is "", "run", "defaults", "suite", "override" or
// "profile".
std::vector<std::string> config_keys(std::string_view table);

}  // namespace proctor
