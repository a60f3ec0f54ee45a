// The contents of proctor.toml, layer by layer, as load_config.h reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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
  // "suite" or "framework"; "" = as the other suites let it be (junit_names.h).
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

}  // namespace proctor
