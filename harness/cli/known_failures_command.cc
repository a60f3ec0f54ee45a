// Implements `proctor gate known-failures check|suggest`. `check` judges a list as the gate does. `suggest` prints
// entries for the failures of a run, one per cause.

#include "harness/cli/known_failures_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/backend.h"
#include "harness/base/json.h"
#include "harness/base/named_file.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/plan/known_failures_check.h"
#include "harness/plan/plan_file.h"
#include "harness/runner/machine/installation.h"
#include "reports/history/questions.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

struct ListCheckOptions {
  std::string file;
  std::optional<std::string> at;
  std::string plan;
  std::string history;
  std::optional<int> max;
};

struct SuggestOptions {
  std::string run_dir;
  std::optional<std::string> at;
  SuggestRequest request;
};

Result<std::vector<PlannedId>> ids_of_plan(const std::string& path) {
  const auto text = read_typed_file(path, kMostPlanFile);
  if (!text)
    return Error::refused("--plan " + path + ": " + text.error().message(),
                          "Make it with `proctor plan -o FILE`.");
  std::error_code error;
  const auto file = parse_plan_file(
      *text, path, Installation().plan_directories(std::filesystem::current_path(error).string()));
  if (!file) return file.error();
  std::vector<PlannedId> ids;
  for (const Case& test : file->plan.cases) {
    const Suite& suite = file->plan.suites[test.suite];
    ids.push_back({test.id, suite.name, std::string(to_string(suite.backend))});
  }
  return ids;
}

std::vector<std::string> models_of(const Variant& variant) {
  constexpr std::string_view kBetween = " + ";
  std::vector<std::string> models;
  for (std::string_view rest = variant.device_model; !rest.empty();) {
    const auto end = std::min(rest.find(kBetween), rest.size());
    models.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
  }
  return models;
}

// Returns the outcomes of the listed cases on any branch, in the days that count.
Result<std::vector<PastEnd>> ends_of_history(const std::string& path, const KnownFailures& list,
                                             std::chrono::sys_seconds at) {
  auto history = History::open_to_read(path, kHistoryWait);
  if (!history) return history.error();
  std::set<std::string> globs;
  for (const KnownFailure& entry : list.entries()) globs.insert(entry.cases.begin(), entry.cases.end());
  std::vector<PastEnd> ends;
  for (const std::string& glob : globs) {
    const auto answer = ask(*history, {.outcomes = true,
                                       .all_branches = true,
                                       .since = utc_text(at - std::chrono::days(kDaysWithoutHit)),
                                       .case_glob = glob});
    if (!answer) return answer.error();
    for (const CaseOutcomes& test : answer->outcomes) {
      for (const SeenOutcome& seen : test.outcomes) {
        const auto when = parse_utc(answer->runs[seen.run].started);
        if (!when) continue;
        ends.push_back({.id = test.id,
                        .backend = test.variant.backend,
                        .where = to_string(test.variant),
                        .models = models_of(test.variant),
                        .when = *when,
                        .verdict = seen.verdict});
      }
    }
  }
  return ends;
}

int print_text(const std::string& text, int code) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? code : fail(Error::system("write to stdout", errno));
}

int check_list(const ListCheckOptions& options) {
  const auto at = moment_of("--as-of", options.at);
  if (!at) return fail(at.error());
  const auto list = load_known_failures(options.file);
  if (!list) return fail(list.error());
  KnownFailureCheck request{.at = *at, .max = options.max};
  if (!options.plan.empty()) {
    auto ids = ids_of_plan(options.plan);
    if (!ids) return fail(ids.error());
    request.planned = *std::move(ids);
  }
  if (!options.history.empty()) {
    auto ends = ends_of_history(options.history, *list, *at);
    if (!ends) return fail(ends.error());
    request.remembered = *std::move(ends);
  }
  const auto findings = check_known_failures(*list, request);
  std::string text;
  for (const auto& finding : findings)
    text += shown(fmt::format("{}: {}: {}", finding.place, finding.code, finding.text)) + "\n";
  for (const KnownFailure& entry : list->entries()) {
    text += shown(fmt::format("{}: {}: {}", entry.origin, days_left_text(entry, day_of(*at)),
                              entry.cases_text())) +
            "\n";
  }
  const std::size_t count = list->entries().size();
  text += shown(fmt::format("{}: {} known failure{}, {} error{}", options.file, count, plural(count),
                            findings.size(), plural(findings.size()))) +
          "\n";
  if (!request.planned) text += "not checked without --plan: which cases they match\n";
  if (!request.remembered) text += "not checked without --history: whether they still fail\n";
  return print_text(text, findings.empty() ? kExitGreen : kExitRed);
}

int suggest_entries(SuggestOptions options) {
  const auto at = moment_of("--as-of", options.at);
  if (!at) return fail(at.error());
  options.request.added = day_of(*at);
  for (const auto& [name, value] :
       {std::pair("--owner", &options.request.owner), {"--issue", &options.request.issue}}) {
    if (value->find_first_not_of(" \t") == value->npos)
      return fail(Error::refused(fmt::format("{} must not be empty (got {})", name, shell_quote(*value))));
  }
  const auto run = load_run(options.run_dir);
  if (!run) return fail(Error::usage_of(run.error()));
  const SuggestedFailures suggested = suggest_known_failures(*run, options.request);
  for (const std::string& note : suggested.notes) std::fprintf(stderr, "proctor: %s\n", shown(note).c_str());
  if (suggested.toml.empty())
    std::fprintf(stderr, "proctor: nothing to suggest for %s\n", shown(options.run_dir).c_str());
  return print_text(shown(suggested.toml), kExitGreen);
}

}  // namespace

void add_known_failures_command(CLI::App& gate, Action& action) {
  auto* both = gate.add_subcommand("known-failures", "Check or write a list of known failures");
  both->require_subcommand(1);
  for (CLI::Option* other : gate.get_options()) both->excludes(other);
  auto* judge = both->add_subcommand("check", "Exit with 1 if the list does not allow a release");
  const auto checked = std::make_shared<ListCheckOptions>();
  judge->add_option("file", checked->file, "List, as for `proctor run --known-failures`")
      ->type_name("FILE")
      ->required();
  judge
      ->add_option("--as-of", checked->at,
                   "Time that counts as now, in UTC: 2026-11-23T12:00:00Z or a day (default: now)")
      ->type_name("TIME");
  judge->add_option("--plan", checked->plan, "Plan whose cases the entries must match")->type_name("FILE");
  judge->add_option("--history", checked->history, "History that shows whether the cases still fail")
      ->type_name("FILE");
  judge->add_option("--max", checked->max, "Most entries that the list may have")
      ->type_name("N")
      ->check(from_to(0, 1'000'000));
  judge->callback([checked, &action] { action = [checked] { return check_list(*checked); }; });

  auto* write = both->add_subcommand("suggest", "Print an entry for each cause of the failures");
  const auto wanted = std::make_shared<SuggestOptions>();
  write->add_option("run_dir", wanted->run_dir, "Run directory")->type_name("RUN_DIR")->required();
  write->add_option("--owner", wanted->request.owner, "Owner of the entries (required)")
      ->type_name("NAME")
      ->required();
  write->add_option("--issue", wanted->request.issue, "Address of the issue (required)")
      ->type_name("URL")
      ->required();
  write
      ->add_option("--days", wanted->request.days,
                   fmt::format("Days until the entries expire (default: {})", wanted->request.days))
      ->type_name("N")
      ->check(from_to(1, kLongestKnownDays));
  write
      ->add_option("--as-of", wanted->at,
                   "Time that counts as now, in UTC: 2026-11-23T12:00:00Z or a day (default: now)")
      ->type_name("TIME");
  write->callback([wanted, &action] { action = [wanted] { return suggest_entries(*wanted); }; });
}

namespace {

using Cases = std::vector<const ResolvedCase*>;

bool may_be_known(Outcome outcome) {
  return std::ranges::find(outcomes_of_failures(), outcome) != outcomes_of_failures().end();
}

// Returns the failed cases in the order of the plan, grouped by cause. A group is at the position of its first case.
std::vector<Cases> by_cause(const ResolvedRun& run) {
  std::vector<Cases> causes;
  std::map<std::string, std::size_t> index;
  for (const ResolvedCase& test : run.cases) {
    if (!test.bad || !may_be_known(test.verdict.outcome)) continue;
    const auto [found, is_new] = index.emplace(cause_key(test), causes.size());
    if (is_new) causes.emplace_back();
    causes[found->second].push_back(&test);
  }
  return causes;
}

std::string clean_toml(const std::string& text) { return toml_text(clean_text(text)); }

// Returns the value if all cases have the same one.
template <typename Of>
std::optional<std::string> common(const Cases& cases, const Of& of) {
  const std::string first = of(*cases.front());
  const bool same = std::ranges::all_of(cases, [&](const ResolvedCase* test) { return of(*test) == first; });
  return same ? std::optional(first) : std::nullopt;
}

// Returns the model of the case's devices; "" if there are several.
std::string model_of_devices(const ResolvedCase& test) {
  std::set<std::string> names;
  if (test.telling != nullptr) {
    for (const PlannedDevice* device : test.telling->devices()) names.insert(device->name);
  }
  return names.size() == 1 ? *names.begin() : "";
}

// Returns the narrowest pattern that matches the reasons of all cases.
std::string reason_glob(const Cases& cases) {
  std::string begin = cases.front()->verdict.reason.text();
  bool same = true;
  for (const ResolvedCase* test : cases) {
    const std::string reason = test->verdict.reason.text();
    const auto differs = std::ranges::mismatch(begin, reason).in1;
    same = same && reason == begin;
    begin.erase(differs, begin.end());
  }
  return same ? begin : begin + "*";
}

std::string case_value(const Cases& cases) {
  if (cases.size() == 1) return clean_toml(cases.front()->planned.id);
  std::string list = "[";
  for (const ResolvedCase* test : cases) list += "\n  " + clean_toml(test->planned.id) + ",";
  return list + "\n]";
}

std::string entry_of(const ResolvedRun& run, const Cases& cases, const SuggestRequest& request) {
  const ResolvedCase& first = *cases.front();
  const std::string what = first.headline;
  const auto backend = common(cases, [](const ResolvedCase& test) { return test.planned.backend; });
  const auto device = common(cases, model_of_devices);
  const Day expires(std::chrono::sys_days(request.added) + std::chrono::days(request.days));
  std::string text = fmt::format("# {} case{}, owner: {}\n[[known_failure]]\n", cases.size(),
                                 plural(cases.size()), to_string(first.problem));
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("{:8}= {}\n", key, value);
  };
  add("case", case_value(cases));
  add("outcome", clean_toml(std::string(to_string(first.verdict.outcome))));
  add("reason", clean_toml(reason_glob(cases)));
  if (backend && !backend->empty()) add("backend", clean_toml(*backend));
  if (device && !device->empty()) add("device", clean_toml(*device));
  add("source", clean_toml(fmt::format("run {}: {}", run.plan.run_id, what)));
  add("issue", clean_toml(request.issue));
  add("owner", clean_toml(request.owner));
  add("added", day_text(request.added));
  add("expires", day_text(expires));
  if (cases.size() > kMostKnown) add("broad", "true");
  return text;
}

std::vector<PlannedId> planned_ids(const ResolvedRun& run) {
  std::vector<PlannedId> ids;
  for (const ResolvedCase& test : run.cases)
    ids.push_back({test.planned.id, test.planned.suite, test.planned.backend});
  return ids;
}

// Returns why the entry is not permitted in a list; "" if it is.
std::string objection(const std::string& entry, const KnownFailureCheck& check) {
  const auto list = parse_known_failures(entry, "it");
  if (!list) return list.error().message();
  const auto findings = check_known_failures(*list, check);
  return findings.empty() ? "" : findings.front().text;
}

void add_note(std::vector<std::string>& notes, int count, std::string_view what) {
  if (count > 0) notes.push_back(fmt::format("{} {}", count_text(count, "case"), what));
}

}  // namespace

SuggestedFailures suggest_known_failures(const ResolvedRun& run, const SuggestRequest& request) {
  SuggestedFailures suggested;
  const KnownFailureCheck check{.at = std::chrono::sys_days(request.added), .planned = planned_ids(run)};
  for (const Cases& cases : by_cause(run)) {
    const std::string entry = entry_of(run, cases, request);
    if (const std::string why = objection(entry, check); !why.empty()) {
      suggested.notes.push_back(fmt::format("no entry for {}: {}", cases.front()->planned.id, why));
      continue;
    }
    suggested.toml += (suggested.toml.empty() ? "" : "\n") + entry;
  }
  int unexpected = 0;
  int not_run = 0;
  int flaky = 0;
  for (const ResolvedCase& test : run.cases) {
    const Outcome outcome = test.verdict.outcome;
    if (test.flaky) ++flaky;
    if (!test.bad) continue;
    if (outcome == Outcome::kXpass) ++unexpected;
    if (outcome == Outcome::kNotrun) ++not_run;
  }
  add_note(suggested.notes, unexpected, "passed, although a list expects a failure: remove the entry");
  add_note(suggested.notes, not_run, "not run, without a known result");
  add_note(suggested.notes, flaky, "passed at a later attempt: an entry would expect the failure each time");
  return suggested;
}

}  // namespace proctor::cli
