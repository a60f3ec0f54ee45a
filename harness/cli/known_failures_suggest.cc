// What of a run's failures could be written into a list, one entry for each cause.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/toml_text.h"
#include "harness/cli/known_failures_command.h"
#include "harness/plan/known_failures_check.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

using Cases = std::vector<const ResolvedCase*>;

bool may_be_known(Outcome outcome) {
  return std::ranges::find(outcomes_of_failures(), outcome) != outcomes_of_failures().end();
}

// The bad cases in the order of the plan; those that ended alike are together, where the first of them is.
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

// What is the same for all of them, or none.
template <typename Of>
std::optional<std::string> common(const Cases& cases, const Of& of) {
  const std::string first = of(*cases.front());
  const bool same = std::ranges::all_of(cases, [&](const ResolvedCase* test) { return of(*test) == first; });
  return same ? std::optional(first) : std::nullopt;
}

// The model of the devices that the case had; "" if they are of several.
std::string model_of_devices(const ResolvedCase& test) {
  std::set<std::string> names;
  if (test.telling != nullptr) {
    for (const PlannedDevice* device : test.telling->devices()) names.insert(device->name);
  }
  return names.size() == 1 ? *names.begin() : "";
}

// As narrow as one pattern can be.
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
  std::string text = fmt::format("# {} case{}, whose problem: {}\n[[known_failure]]\n", cases.size(),
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

// Why the entry must not stand in a list; "" if it may.
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
  add_note(suggested.notes, unexpected, "passed that a list expects to fail: take the entry out");
  add_note(suggested.notes, not_run, "not run, of which nothing is known");
  add_note(suggested.notes, flaky,
           "good at a later attempt: no entry, which would expect the failure each time");
  return suggested;
}

}  // namespace proctor::cli
