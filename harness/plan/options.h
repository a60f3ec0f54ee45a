// The options of the command line about the plan. The CLI fills these structs with the text as typed. This
// module checks durations and names, so that every message about a bad value is made in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace proctor {

// Where the configuration comes from.
struct ConfigOptions {
  std::string directory;    // where proctor was started, absolute: ./proctor.toml is looked for here
  std::string config_file;  // --config, replaces ./proctor.toml; "" = not given
  std::string user_file;    // user_config_file(); "" = none, and a file that does not exist is none
  std::string profile;      // --profile; "" = none
  std::optional<std::string> text{};  // of a project file that is not written yet, instead of ./proctor.toml
};

// Which suites and cases. Empty lists select everything.
struct SelectionOptions {
  std::vector<std::string> suites;    // names, before `--`
  std::vector<std::string> command;   // the ad hoc suite, after `--`
  std::string backend;                // --backend: cuda | xpu | none | all; "" = all, of each suite its own
  std::optional<int> gpus;            // --gpus: devices per case, for suites that use a backend
  std::string hierarchy;              // --hierarchy, for suites of backend xpu; "" = as configured
  std::string mask;                   // --mask: uuid | index, for suites with devices; "" = as configured
  std::string mem_cap;                // --mem-cap, for suites with a backend: 512M; "" = as configured
  bool host_pids = false;             // --host-pids, for all suites
  std::string process;                // --process (batch.h); "" = as configured
  std::vector<std::string> env;       // --env NAME=VALUE, over every configuration
  std::string kind;                   // --kind, for an ad hoc suite; "" = as recognised
  bool joined = false;                // --join: other commands share the report of the ad hoc suite
  std::string name;                   // --name, for an ad hoc suite; "" = its program's
  std::vector<std::string> filters;   // --filter GLOB, any of them
  std::vector<std::string> cases;     // --case ID, literal; added to what the filters select
  std::vector<std::string> excludes;  // --exclude GLOB, after filters and cases
  std::vector<std::string> labels;    // --label, any of them
  std::vector<std::string> tags;      // --tag, any of them
  // A suite that cannot be listed becomes one case that is red, and the others go on; else the plan is refused.
  bool keep_unlisted = false;
  // Built-in suites are meant only where something names them: a suite, a case, a filter, a label or a tag.
  bool named_only = false;
  // A suite without cases is no mistake, nor is a plan without any.
  bool may_be_empty = false;
};

// How much our own checks do (harness/core/axes.h).
struct Extent {
  std::string size = "ci";  // smoke | ci | full | stress
  std::uint64_t seed = 0;   // another choice of the points that a check is tried with
  std::string point;        // this one alone; "" = as many as the size asks for
};

// Limits as typed; each wins over every configuration file.
struct LimitOptions {
  std::optional<std::string> timeout;  // a duration, or "off"
  std::optional<std::string> grace;
  std::optional<std::string> stall;  // as `timeout`
  std::optional<std::string> retries;
  std::optional<std::string> leaks{};  // warn | fail
};

}  // namespace proctor
