#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostChangesNamed = 25;

json changed_facts(const Comparison& comparison) {
  PageTable table({"Stack", "Before", "Now"});
  for (const FactChange& fact : comparison.stack)
    table.add({fact.name, fact.before.value_or("not there"), fact.after.value_or("not there")});
  for (const ProgramChange& program : comparison.programs) {
    table.add({"program of " + suite_name(program.suite, program.backend),
               code_cell(short_digest(program.before)), code_cell(short_digest(program.after))});
  }
  return table.view();
}

json changed_case(const CaseChange& change, const PageChanges& changes, const PageRun& run) {
  const bool here = change.after != kNotThere;
  const std::string& id =
      here ? run.resolved.cases[change.after].planned.id : changes.before.cases[change.before].id;
  json view = {{"ids", json::array({here ? case_link(id) : plain_id(id)})}, {"measures", json::array()}};
  if (here && change.before != kNotThere) {
    view["before"] = readable(changes.before.cases[change.before].verdict);
    view["after"] = readable(run.resolved.cases[change.after].verdict);
  }
  for (const MeasureChange& measure : change.measures) {
    view["measures"].push_back({{"measure", measure.name},
                                {"then", fmt::format("{:.4g}", measure.before)},
                                {"now", fmt::format("{:.4g}", measure.after)},
                                {"unit", measure.unit}});
  }
  return view;
}

json changed_classes(const PageChanges& changes, const PageRun& run) {
  std::map<Change, std::vector<const CaseChange*>> classes;
  for (const CaseChange& change : changes.comparison.changes) classes[change.change].push_back(&change);
  json view = json::array();
  for (const auto& [change, found] : classes) {
    view.push_back(
        {{"open", change == Change::kRegression || change == Change::kNewFailing},
         {"words", describe(change)},
         {"count", found.size()},
         {"cases", first_of(found, kMostChangesNamed,
                            [&](const CaseChange* one) { return changed_case(*one, changes, run); })},
         {"more", beyond(found.size(), kMostChangesNamed)}});
  }
  return view;
}

// Adds the variants that only one of the two runs has, each with its cases.
template <typename Cases, typename Id>
void add_variants_only(std::string_view when, const std::vector<Variant>& found,
                       const std::vector<Variant>& all, const Cases& cases, const Id& id_of, json& only) {
  for (const Variant& variant : found) {
    std::vector<std::string> ids;
    for (const auto& one : cases) {
      if (all[one.variant] == variant) ids.push_back(std::invoke(id_of, one));
    }
    only.push_back(ids_of(ids, kMostChangesNamed, plain_id));
    only.back().update(
        {{"when", when}, {"variant", to_string(variant)}, {"count", count_text(ids.size(), "case")}});
  }
}

std::string_view verb(int count) { return plural(count, "is", "are"); }

// Returns "0123abc → 4567def"; "" if both commits are unknown.
std::string commit_range(const Subject& before, const Subject& after) {
  if (!before.commit.value && !after.commit.value) return "";
  const auto name = [](const Subject& subject) {
    return subject.commit.value ? short_digest(*subject.commit.value) : "unknown";
  };
  return name(before) + " → " + name(after);
}

json changes_of_run(const PageView& view, std::size_t number) {
  const PageRun& run = view.request.runs[number];
  const PageChanges& changes = *run.changes;
  const Comparison& comparison = changes.comparison;
  const Subject& subject = run.resolved.plan.subject;
  json said = {{"id", changes.before.run_id},
               {"started", time_text(changes.before.started)},
               {"of_run", view.run_name(number)},
               {"commits", commit_range(changes.before.subject, subject)},
               {"commits_href", comparison_address(changes.before.subject, subject)}};
  const auto still = static_cast<std::size_t>(
      std::ranges::count(comparison.changes, Change::kStillFailing, &CaseChange::change));
  if (comparison.stack.empty() && comparison.programs.empty() && comparison.changes.size() == still &&
      comparison.only_before.empty() && comparison.only_after.empty()) {
    said["nothing"] = count_text(comparison.unchanged + still, "case");
    said["failing"] = still == 0 ? json() : json(still);
    return said;
  }
  said["facts"] = changed_facts(comparison);
  said["classes"] = changed_classes(changes, run);
  said["only"] = json::array();
  add_variants_only("Only before, not compared", comparison.only_before, changes.before.variants,
                    changes.before.cases, &CaseResult::id, said["only"]);
  add_variants_only(
      "Only now, not compared", comparison.only_after, run.resolved.variants, run.resolved.cases,
      [](const ResolvedCase& test) { return test.planned.id; }, said["only"]);
  said["unchanged"] = count_text(comparison.unchanged, "case");
  return said;
}

}  // namespace

json changes_section(const PageView& view) {
  json against = json::array();
  bool past = false;
  for (std::size_t i = 0; i < view.request.runs.size(); ++i) {
    if (view.request.runs[i].changes) against.push_back(changes_of_run(view, i));
    past = past || view.request.runs[i].past != nullptr;
  }
  const Tally& tally = view.tally;
  if (against.empty() && !past) return nullptr;
  json said = json::object();
  if (against.empty() && past) {
    const int failed = tally.failed + tally.not_run;
    said["all_passed"] = failed == 0;
    const int longer = failed - std::min(failed, tally.fresh);
    said["newly"] =
        failed == 0 ? ""
                    : fmt::format("{} {} newly failed", count_text(tally.fresh, "case"), verb(tally.fresh));
    said["longer"] = fmt::format("{} {} so", thousands(longer), verb(longer));
  }
  said["against"] = std::move(against);
  return said;
}

}  // namespace proctor
