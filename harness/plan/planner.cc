#include "harness/plan/planner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/text.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/frameworks/kind.h"
#include "harness/plan/config.h"
#include "harness/plan/known_failures.h"
#include "harness/plan/recognise.h"
#include "harness/plan/select.h"
#include "harness/plan/written_off.h"

namespace proctor {
namespace {

// Returns null if only the program itself can show its kind.
const Kind* kind_as_configured(const SuiteConfig& config) {
  return config.kind != nullptr ? config.kind : kind_of_command(config.suite.command);
}

// Returns whether the suites can have equal names, as far as the configuration determines it. The result is
// independent of the selected suites.
bool may_share_names(const SuiteConfig& one, const SuiteConfig& other) {
  const Kind* kind = kind_as_configured(one);
  const Kind* others = kind_as_configured(other);
  if (kind != nullptr && others != nullptr) return kind == others;
  const auto has_its_own = [](const Kind* known) { return known == nullptr || known->traits().classnames; };
  return has_its_own(kind) && has_its_own(others);
}

bool wears_suite_name(const Config& config, const SuiteConfig& suite) {
  if (!suite.junit_classname.empty()) return suite.junit_classname == "suite";
  const auto is_it = [&](const SuiteConfig& other) { return other.suite.name == suite.suite.name; };
  const auto configured = std::ranges::find_if(config.suites, is_it);
  if (configured == config.suites.end()) return false;  // a command, which runs alone
  return std::ranges::any_of(config.suites, [&](const SuiteConfig& other) {
    return !is_it(other) && !other.built_in && may_share_names(*configured, other);
  });
}

void report_repeated_apart(std::vector<Case>& cases) {
  std::map<std::pair<std::string, std::string>, int> uses;
  for (const Case& test : cases) ++uses[{test.classname, test.name}];
  for (Case& test : cases) {
    if (uses[{test.classname, test.name}] > 1) test.name += " [" + test.id + "]";
  }
}

Error unsupported(const Suite& suite, const std::string& what, const std::string& hint) {
  return Error::usage(
      fmt::format("plan suite `{}` ({}): {} is not supported yet", suite.name, suite.origin, what), hint);
}

Result<void> check_supported(const Suite& suite) {
  const Kind::Traits& kind = suite.kind->traits();
  const auto of_kind = [&](std::string_view what) {
    return fmt::format("{} with kind \"{}\"", what, kind.name);
  };
  if (suite.ranks > 0 && !kind.ranks) {
    return unsupported(suite, of_kind("ranks"),
                       kind.ours
                           ? "Its checks declare their number of ranks."
                           : "Write kind = \"command\": the whole command is one case, and each rank's exit "
                             "code counts.");
  }
  if (suite.skip_code != 0 && !kind.one_case) {
    return unsupported(suite, of_kind("skip_code"),
                       "Remove it: this framework reports which of its tests were skipped.");
  }
  const auto& processes = kind.processes;
  if (std::find(processes.begin(), processes.end(), suite.process) == processes.end()) {
    return unsupported(
        suite, of_kind(fmt::format("process = \"{}\"", suite.process)),
        fmt::format("{}Write process = \"{}\".", suite.process == "file" ? "Only pytest has files. " : "",
                    fmt::join(processes, "\" or \"")));
  }
  if (!suite.devices_marker.empty() && !kind.markers_for_devices) {
    return unsupported(suite, of_kind("gpus = \"marker:...\""), "Only pytest has markers. Write gpus = 1.");
  }
  return {};
}

// Refuses variables of a suite or of --env that select tests. The result would count as all cases of the
// suite.
Result<void> check_variables(const Suite& suite) {
  for (const auto& [name, value] : suite.env) {
    const std::string instead = suite.kind->instead_of(name, value);
    if (instead.empty()) continue;
    return Error::usage(
        fmt::format("plan suite `{}` ({}): `{}={}` in its environment (`env`, --env) would run "
                    "only a part of its cases, or none as planned",
                    suite.name, suite.origin, name, clean_text(value)),
        fmt::format("Use {}.", instead));
  }
  return {};
}

// Handles variables of the caller that select tests. Each has a warning.
void take_caller_filters(Suite& suite, const SearchPaths& paths, std::vector<Warning>& warnings) {
  const Kind::Traits& kind = suite.kind->traits();
  const auto warn = [&](const std::string& name, const std::string& value, const std::string& what) {
    warnings.push_back(
        {WarningCode::kCallerFilter, fmt::format("suite `{}` ({}): `{}={}` of the caller {}", suite.name,
                                                 suite.origin, name, clean_text(value), what)});
  };
  for (const auto& [name, value] : paths.caller) {
    // the suite sets the variable itself
    if (suite.env.contains(name) && !suite.filters.contains(name)) continue;
    if (std::ranges::find(kind.caller_filters, name) != kind.caller_filters.end()) {
      warn(name, value, "is not passed on; --filter selects cases");
    } else if (std::ranges::find(kind.caller_options, name) != kind.caller_options.end() &&
               suite.kind->leaves_tests_out(name, value)) {
      suite.env[name] = suite.filters[name] = value;
      warn(name, value, "is passed on and may exclude tests; if it does, it is part of the plan");
    }
  }
}

// Runs the program of the suite to list its cases. Afterwards the kind of the suite is known.
Result<std::vector<Case>> listed_cases(SuiteConfig& config, std::size_t index, const std::string& executable,
                                       const SearchPaths& paths, const Listers& listers,
                                       std::vector<Warning>& warnings) {
  Suite& suite = config.suite;
  std::optional<ListOutput> listing;
  if (config.kind == nullptr) {
    Result<Recognition> recognised = recognise(suite, executable, listers, warnings);
    if (!recognised) return recognised.error();
    config.kind = recognised->kind;
    suite.kind_reason = recognised->reason;
    listing = std::move(recognised->listing);
  } else if (auto chosen = choose_devices(listers, role_of(*config.kind), executable, suite, warnings);
             !chosen) {
    return chosen.error();
  }
  suite.kind = config.kind;
  if (!suite.process_chosen) suite.process = suite.kind->traits().processes.front();
  if (Result<void> supported = check_supported(suite); !supported) return supported.error();
  if (Result<void> variables = check_variables(suite); !variables) return variables.error();
  take_caller_filters(suite, paths, warnings);
  if (Result<void> settled = suite.kind->settle_environment(suite, paths); !settled) return settled.error();
  std::vector<Warning> of_list;
  auto cases = discover(suite, index, listers, listing, of_list);
  if (cases && suite.devices_by == DevicesBy::kAuto && listers.confirm_devices) {
    if (listers.confirm_devices(suite, warnings)) {
      of_list.clear();
      cases = discover(suite, index, listers, std::nullopt, of_list);
    } else if (suite.devices == 0) {
      for (Case& test : *cases) test.devices = 0;
    }
  }
  warnings.insert(warnings.end(), of_list.begin(), of_list.end());
  return cases;
}

Result<std::vector<Case>> cases_of(SuiteConfig& config, std::size_t index, const SearchPaths& paths,
                                   const Listers& listers, bool keep_unlisted,
                                   std::vector<Warning>& warnings) {
  Suite& suite = config.suite;
  const auto own_path = suite.env.find("PATH");
  const Result<std::string> executable =
      find_executable(suite, own_path != suite.env.end() ? own_path->second : paths.path);
  if (!executable) return executable.error();
  Result<std::vector<Case>> cases = listed_cases(config, index, *executable, paths, listers, warnings);
  if (cases || !keep_unlisted || cases.error().kind != ErrorKind::kUnlisted) return cases;
  return std::vector<Case>{unlisted_case(suite, index, cases.error())};
}

Result<void> check_unique(const Plan& plan) {
  std::unordered_map<std::string_view, const Case*> seen;
  for (const Case& test : plan.cases) {
    const auto [first, inserted] = seen.emplace(test.id, &test);
    if (inserted) continue;
    const Suite& one = plan.suites[first->second->suite];
    const Suite& other = plan.suites[test.suite];
    return Error::refused(fmt::format("Suites `{}` ({}) and `{}` ({}) both have the case {}", one.name,
                                      one.origin, other.name, other.origin, test.id),
                          "Rename one of them.");
  }
  return {};
}

bool matches_any(const std::string& pattern, const std::vector<Case>& cases) {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const Case& test) { return glob_match(pattern, test.id); });
}

void warn_replaced(const LimitSetting& limit, const Config& config, const std::vector<Case>& cases,
                   std::vector<Warning>& warnings) {
  const bool by_option = is_set(limit, config.options);
  if (!by_option && !is_set(limit, config.profile)) return;
  for (const Override& entry : config.overrides) {
    if (!is_set(limit, entry.limits) || !matches_any(entry.match, cases)) continue;
    warnings.push_back(
        {WarningCode::kOverrideReplaced,
         fmt::format("{} replaces `{}` of the override for `{}` ({})",
                     by_option ? "--" + limit.key : "the profile", limit.key, entry.match, entry.origin)});
  }
}

// Returns whether `pattern` may refer to a case of a suite that was not selected. Only a literal name before
// the '/' identifies a suite.
bool may_concern(const std::string& pattern, const std::vector<SuiteConfig>& left_out) {
  const std::string prefix = pattern.substr(0, pattern.find('/'));
  const bool literal = prefix.size() < pattern.size() && prefix.find_first_of("*?") == std::string::npos;
  return std::any_of(left_out.begin(), left_out.end(), [&](const SuiteConfig& config) {
    const Suite& suite = config.suite;
    return !literal || prefix == suite.name ||
           prefix == fmt::format("{}.{}", suite.name, to_string(suite.backend));
  });
}

std::vector<SuiteConfig> suites_left_out(const Config& config, const std::vector<SuiteConfig>& chosen) {
  std::vector<SuiteConfig> left_out = config.suites;
  std::erase_if(left_out, [&](const SuiteConfig& suite) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const SuiteConfig& other) {
      return other.suite.name == suite.suite.name && other.suite.backend == suite.suite.backend;
    });
  });
  return left_out;
}

// Returns warnings about overrides that have no effect.
std::vector<Warning> override_warnings(const Config& config, const std::vector<Case>& cases,
                                       const std::vector<SuiteConfig>& left_out) {
  std::vector<Warning> warnings;
  for (const LimitSetting& limit : limit_settings()) warn_replaced(limit, config, cases, warnings);
  for (const Override& entry : config.overrides) {
    if (matches_any(entry.match, cases) || may_concern(entry.match, left_out)) continue;
    warnings.push_back({WarningCode::kOverrideUnused,
                        fmt::format("{}: override for `{}` matches no case", entry.origin, entry.match)});
  }
  return warnings;
}

// Applies the key `exclude`. A pattern without a match is not a mistake, because it can match a case of a
// suite that is not selected.
Result<void> leave_out_by_key(const Config& config, const std::vector<SuiteConfig>& left_out,
                              bool may_be_empty, std::vector<Case>& cases, std::vector<Warning>& warnings) {
  const bool had_cases = !cases.empty();
  for (const std::string& pattern : config.run.selection.excludes) {
    const auto is_meant = [&](const Case& test) { return matches_all_of(pattern, test); };
    if (std::erase_if(cases, is_meant) == 0 && !may_concern(pattern, left_out))
      warnings.push_back(
          {WarningCode::kExcludeUnused, fmt::format("`exclude`: the pattern `{}` matches no case", pattern)});
  }
  if (!cases.empty() || !had_cases || may_be_empty) return {};
  // Only the project file may have the key. It is read last.
  const std::string file = config.files.empty() ? "proctor.toml" : config.files.back().file;
  return Error::refused(
      fmt::format("No case is selected: the key `exclude` of {} excludes all of them", file),
      "Change its patterns, or replace them with `--exclude`.");
}

// Marks the cases that [[skip]] entries name, and warns about entries without an effect.
std::vector<Warning> write_off_cases(const Config& config, const std::vector<SuiteConfig>& left_out,
                                     std::vector<Case>& cases) {
  std::vector<Warning> warnings = write_off(config.skips, today_utc(), cases);
  for (const WrittenOff& entry : config.skips) {
    if (matches_any(entry.cases, cases) || may_concern(entry.cases, left_out)) continue;
    warnings.push_back({WarningCode::kSkipUnused,
                        fmt::format("{}: skip of `{}` matches no case", entry.origin, entry.cases)});
  }
  return warnings;
}

// Returns warnings about time limits that no event of the suite starts or stops.
std::vector<Warning> clock_warnings(const Plan& plan) {
  std::vector<Warning> warnings;
  for (const Suite& suite : plan.suites) {
    const bool shares = suite.process != "case";
    const ReportingMode reporting_mode =
        shares ? suite.kind->reporting_mode_of_several(suite) : suite.kind->reporting_mode(suite);
    if (report_begin_and_end(reporting_mode) || (!suite.policy.startup && !suite.policy.shutdown)) continue;
    warnings.push_back({WarningCode::kTimeLimitUnused,
                        fmt::format("suite `{}`: `startup` and `shutdown` have no effect: a suite of kind {} "
                                    "does not report when a case begins and ends",
                                    suite.name, suite.kind->name())});
  }
  return warnings;
}

}  // namespace

void name_for_junit(const Config& config, const SuiteConfig& suite, std::vector<Case>& cases) {
  report_repeated_apart(cases);
  if (!suite.suite.kind->traits().classnames || !wears_suite_name(config, suite)) return;
  for (Case& test : cases) {
    if (test.classname != suite.suite.name) test.classname = suite.suite.name + "." + test.classname;
  }
}

Result<PlanOutcome> make_plan(const Config& config, const SelectionOptions& options, const SearchPaths& paths,
                              const Listers& listers) {
  Listers asked = listers;
  asked.may_list_nothing = options.may_be_empty;
  Result<std::vector<SuiteConfig>> suites = select_suites(config, options);
  if (!suites) return suites.error();
  PlanOutcome outcome;
  outcome.run = config.run;
  outcome.files = config.files;
  outcome.warnings = config.warnings;
  std::vector<SuiteConfig> unlisted;
  Plan& plan = outcome.plan;
  plan.concurrency_groups = config.groups.limits();
  for (SuiteConfig& suite : *suites) {
    Result<std::vector<Case>> cases =
        cases_of(suite, plan.suites.size(), paths, asked, options.keep_unlisted, outcome.warnings);
    if (!cases) return cases.error();
    if (!cases->empty() && is_unlisted(cases->front())) unlisted.push_back(suite);
    name_for_junit(config, suite, *cases);
    suite.suite.policy = resolve_policy(config, suite, suite.suite.kind, "");
    for (Case& test : *cases) {
      test.policy = resolve_policy(config, suite, suite.suite.kind, test.id);
      plan.cases.push_back(std::move(test));
    }
    plan.suites.push_back(suite.suite);
  }
  if (Result<void> unique = check_unique(plan); !unique) return unique.error();
  std::vector<SuiteConfig> unknown = suites_left_out(config, *suites);
  unknown.insert(unknown.end(), unlisted.begin(), unlisted.end());
  for (Warning& warning : override_warnings(config, plan.cases, unknown))
    outcome.warnings.push_back(std::move(warning));
  for (Warning& warning : write_off_cases(config, unknown, plan.cases))
    outcome.warnings.push_back(std::move(warning));
  for (Warning& warning : clock_warnings(plan)) outcome.warnings.push_back(std::move(warning));
  if (options.excludes.empty()) {
    if (auto left = leave_out_by_key(config, unknown, options.may_be_empty, plan.cases, outcome.warnings);
        !left)
      return left.error();
  }
  Result<std::vector<Case>> selected = select_cases(std::move(plan.cases), options);
  if (!selected) return selected.error();
  plan.cases = std::move(*selected);
  return outcome;
}

}  // namespace proctor
