#include "reports/compare/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "harness/base/text.h"
#include "reports/formats/json_writer.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kLineBytes = 300;
constexpr std::size_t kShownDigest = 12;

std::string line_of(std::string_view text) { return one_line(clean_text(text), kLineBytes); }

std::string value_of(const std::optional<std::string>& value) { return value ? line_of(*value) : "none"; }

// ---- Differences of the runs ----

std::string fact_text(const FactChange& fact) {
  return fmt::format("{} {}, then {}", line_of(fact.name), value_of(fact.before), value_of(fact.after));
}

std::string program_text(const ProgramChange& program) {
  const std::string backend = program.backend == "none" ? "" : "." + program.backend;
  return fmt::format("{} {}, then {}", line_of(program.suite + backend),
                     program.before.substr(0, kShownDigest), program.after.substr(0, kShownDigest));
}

std::vector<std::string> facts_of(const Diff& diff) {
  std::vector<std::string> texts;
  for (const FactChange& fact : diff.comparison.stack) texts.push_back(fact_text(fact));
  if (!texts.empty()) return texts;
  for (const RunResults* run : {&diff.before, &diff.after}) {
    if (run->stack.empty()) return {"not known of " + line_of(run->place)};
  }
  return {"no fact that both runs contain has changed"};
}

std::vector<std::string> programs_of(const Diff& diff) {
  std::vector<std::string> texts;
  for (const ProgramChange& program : diff.comparison.programs) texts.push_back(program_text(program));
  if (!texts.empty()) return texts;
  for (const RunResults* run : {&diff.before, &diff.after}) {
    if (std::ranges::all_of(run->programs, &std::string::empty, &TestedProgram::sha256))
      return {"not known of " + line_of(run->place)};
  }
  return {"the facts that both runs contain are the same"};
}

std::string commit_of(const RunResults& run) {
  if (!run.subject.commit.value) return "unknown";
  return line_of(*run.subject.commit.value) + (run.subject.dirty.value == "true" ? " with changes" : "");
}

// Returns "" if both commits are unknown.
std::string commits_text(const Diff& diff) {
  const std::string before = commit_of(diff.before), after = commit_of(diff.after);
  return before == after ? (before == "unknown" ? "" : before) : before + ", then " + after;
}

// Returns "" for a complete run.
std::string why_incomplete(const RunResults& run) {
  if (!run.complete) return "its runner was killed, or still runs";
  return run.verdict == RunVerdict::kInterrupted ? "it was stopped before its end" : "";
}

std::string incomplete_text(std::string_view name, const RunResults& run) {
  const std::string why = why_incomplete(run);
  return why.empty() ? "" : fmt::format("{} is incomplete: {}", name, why);
}

// ---- cases ----

std::string verdict_text(const RunResults& run, std::uint32_t index) {
  const CaseResult& result = run.cases[index];
  if (result.cause == kNoCause || result.result_class == ResultClass::kNotrun)
    return readable(result.verdict);
  return std::string(to_string(result.verdict.outcome)) + ": " + describe(run, result);
}

std::string measure_text(const MeasureChange& measure) {
  const double share = measure.before != 0 ? (measure.after / measure.before - 1) * 100 : 0;
  return fmt::format("{} {:g} {}, then {:g} ({:+.0f} %)", measure.name, measure.before, measure.unit,
                     measure.after, share);
}

std::string what_happened(const Diff& diff, const CaseChange& change) {
  switch (change.change) {
    case Change::kFixed:
    case Change::kRanAgain:
    case Change::kSteadier:
    case Change::kDisappeared:
      return "was " + verdict_text(diff.before, change.before);
    case Change::kSlower:
    case Change::kFaster: {
      std::string text;
      for (const MeasureChange& measure : change.measures)
        text += (text.empty() ? "" : "; ") + measure_text(measure);
      return text;
    }
    case Change::kRegression:
    case Change::kStillFailing:
    case Change::kNewFailing:
    case Change::kNewPassing:
    case Change::kAppeared:
    case Change::kSkippedNow:
    case Change::kNotRunNow:
    case Change::kXfailNow:
    case Change::kFlakier:
      break;
  }
  return verdict_text(diff.after, change.after);
}

const std::string& id_of(const Diff& diff, const CaseChange& change) {
  return change.after != kNotThere ? diff.after.cases[change.after].id : diff.before.cases[change.before].id;
}

// Splits the changes by class. No span is empty.
std::vector<std::span<const CaseChange>> classes_of(const Comparison& comparison) {
  std::vector<std::span<const CaseChange>> classes;
  const std::span<const CaseChange> all(comparison.changes);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].change == all[begin].change) ++end;
    classes.push_back(all.subspan(begin, end - begin));
  }
  return classes;
}

// ---- Variants that only one run has ----

// Variants that only one run has.
struct OneSided {
  std::string where;
  std::vector<std::string> variants;
};

std::vector<std::string> variants_text(const RunResults& run, const std::vector<Variant>& only) {
  std::map<std::uint32_t, std::size_t> cases;
  for (const CaseResult& result : run.cases) ++cases[result.variant];
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < run.variants.size(); ++i) {
    if (std::ranges::find(only, run.variants[i]) == only.end()) continue;
    texts.push_back(fmt::format("{} ({} cases)", line_of(to_string(run.variants[i])), cases[i]));
  }
  return texts;
}

std::vector<OneSided> one_sided(const Diff& diff) {
  std::vector<OneSided> sides;
  for (auto& [where, texts] :
       {std::pair("only before", variants_text(diff.before, diff.comparison.only_before)),
        std::pair("only after", variants_text(diff.after, diff.comparison.only_after))}) {
    if (!texts.empty()) sides.push_back({where, texts});
  }
  return sides;
}

// If no case of two runs can be compared, they are usually the wrong runs.
bool is_nothing_compared(const Diff& diff) {
  return diff.comparison.compared == 0 && !diff.before.cases.empty() && !diff.after.cases.empty();
}

constexpr std::string_view kNothingCompared =
    "nothing is compared: no case of one is there in the same variant of the other";

std::string compared_text(const Diff& diff) {
  if (is_nothing_compared(diff)) return std::string(kNothingCompared);
  return fmt::format("{} compared, {} unchanged", diff.comparison.compared, diff.comparison.unchanged);
}

}  // namespace

std::string counts_text(const Comparison& comparison) {
  std::string text;
  for (const std::span<const CaseChange> changes : classes_of(comparison))
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", changes.size(), to_string(changes.front().change));
  return text.empty() ? "nothing changed" : text;
}

std::string why_unjudged(const Diff& diff) {
  if (std::string incomplete = incomplete_text("B", diff.after); !incomplete.empty()) return incomplete;
  return diff.comparison.compared == 0 ? std::string(kNothingCompared) : "";
}

std::string diff_text(const Diff& diff, std::size_t most) {
  std::string text = fmt::format("stack: {}\n", fmt::join(facts_of(diff), "; "));
  text += fmt::format("programs: {}\n", fmt::join(programs_of(diff), "; "));
  if (const std::string commits = commits_text(diff); !commits.empty()) text += "tested: " + commits + "\n";
  for (const auto& [name, run] : {std::pair("A", &diff.before), std::pair("B", &diff.after)}) {
    if (const std::string incomplete = incomplete_text(name, *run); !incomplete.empty())
      text += incomplete + "\n";
  }
  text += fmt::format("cases: {}; {}\n", counts_text(diff.comparison), compared_text(diff));
  for (const OneSided& side : one_sided(diff)) {
    for (const std::string& variant : side.variants) text += side.where + ": " + variant + "\n";
  }
  for (const std::span<const CaseChange> changes : classes_of(diff.comparison)) {
    text += fmt::format("{}: {}\n", to_string(changes.front().change), changes.size());
    for (const CaseChange& change : changes.first(std::min(most, changes.size())))
      text += fmt::format("  {}  {}\n", line_of(id_of(diff, change)), line_of(what_happened(diff, change)));
    if (changes.size() > most) text += fmt::format("  and {} more\n", changes.size() - most);
  }
  return without_hidden_controls(text);
}

std::string diff_markdown(const Diff& diff, std::size_t limit) {
  MarkdownPage page(limit, "diff.json");
  std::string head = "# What changed: " + counts_text(diff.comparison) + "\n\n";
  head += fmt::format("{}, started {}, compared with {}, started {}. {}.\n", markdown_code(diff.after.place),
                      markdown_code(diff.after.started), markdown_code(diff.before.place),
                      markdown_code(diff.before.started), markdown_prose(compared_text(diff)));
  for (const RunResults* run : {&diff.before, &diff.after}) {
    const std::string incomplete = incomplete_text(markdown_code(run->place), *run);
    if (!incomplete.empty()) head += "\n**" + incomplete + ".**\n";
  }
  page.add(head);
  page.title("\n## Stack\n\n");
  for (const std::string& fact : facts_of(diff)) page.add("- " + markdown_prose(fact) + "\n");
  page.title("\n## Tested\n\n");
  if (const std::string commits = commits_text(diff); !commits.empty())
    page.add("- commit: " + markdown_prose(commits) + "\n");
  for (const std::string& program : programs_of(diff))
    page.add("- programs: " + markdown_prose(program) + "\n");
  for (const OneSided& side : one_sided(diff)) {
    page.title(fmt::format("\n## Variants that are there {}\n\n", side.where));
    for (const std::string& variant : side.variants) page.add("- " + markdown_prose(variant) + "\n");
  }
  for (const std::span<const CaseChange> changes : classes_of(diff.comparison)) {
    page.title(fmt::format("\n## {} ({})\n\n", to_string(changes.front().change), changes.size()));
    for (const CaseChange& change : changes) {
      page.add(fmt::format("- {}: {}\n", markdown_code(id_of(diff, change)),
                           markdown_prose(line_of(what_happened(diff, change)))));
    }
  }
  return std::move(page).finish();
}

namespace {

void write_variant(JsonWriter& json, const Variant& variant) {
  json.member("suite", variant.suite).member("backend", variant.backend).member("stack", variant.stack);
  json.member("device_model", variant.device_model).member("simulated", variant.simulated);
}

void write_run(std::string_view key, const RunResults& run, JsonWriter& json) {
  json.open_object(key).member("path", run.place).member("run_id", run.run_id);
  json.member("journal_sha256", run.journal_sha256).member("started", run.started);
  json.member("commit", run.subject.commit.value).member("plan_digest", run.plan_digest);
  json.member("exit_code", run.exit_code)
      .member("verdict", to_string(run.verdict))
      .member("simulated", run.simulated);
  json.member("complete", run.complete).member("cases", run.cases.size()).close();
}

void write_fact_change(JsonWriter& json, const FactChange& fact) {
  json.member("name", fact.name).member("before", fact.before).member("after", fact.after);
}

void write_program_change(JsonWriter& json, const ProgramChange& program) {
  json.member("suite", program.suite).member("backend", program.backend);
  json.member("before", program.before).member("after", program.after);
}

void write_counts(const Comparison& comparison, JsonWriter& json) {
  const auto counts = counts_of(comparison);
  json.open_object("counts");
  for (const Change change : kAllChanges)
    json.member(to_string(change), counts[static_cast<std::size_t>(change)]);
  json.close();
}

void write_result(std::string_view key, const RunResults& run, std::uint32_t index, JsonWriter& json) {
  if (!json.open_object_or_null(key, index != kNotThere)) return;
  const CaseResult& result = run.cases[index];
  json.member("id", result.id).member("outcome", to_string(result.verdict.outcome));
  json.member_if_any("reason", result.verdict.reason.text());
  if (result.cause != kNoCause) json.member("cause", describe(run, result));
  if (result.flaky) json.member("flaky", true);
  json.close();
}

void write_measure_change(JsonWriter& json, const MeasureChange& measure) {
  json.member("name", measure.name).member("unit", measure.unit);
  json.member("before", measure.before).member("after", measure.after);
}

void write_change(JsonWriter& json, const Diff& diff, const CaseChange& change) {
  const bool is_there = change.after != kNotThere;
  const RunResults& run = is_there ? diff.after : diff.before;
  const CaseResult& result = run.cases[is_there ? change.after : change.before];
  json.member("class", to_string(change.change)).member("id", result.id);
  const Variant& variant = run.variants[result.variant];
  if (!is_unknown(variant)) {
    json.open_object("variant");
    write_variant(json, variant);
    json.close();
  }
  write_result("before", diff.before, change.before, json);
  write_result("after", diff.after, change.after, json);
  json.objects_if_any("measures", change.measures, write_measure_change);
}

}  // namespace

void write_diff_json(const Diff& diff, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kDiffSchemaVersion);
  write_run("before", diff.before, json);
  write_run("after", diff.after, json);
  const Comparison& comparison = diff.comparison;
  json.objects("stack", comparison.stack, write_fact_change);
  json.objects("programs", comparison.programs, write_program_change);
  write_counts(comparison, json);
  json.member("compared", comparison.compared).member("unchanged", comparison.unchanged);
  json.objects("only_before", comparison.only_before, write_variant);
  json.objects("only_after", comparison.only_after, write_variant);
  json.objects("changes", comparison.changes,
               [&](JsonWriter& out, const CaseChange& change) { write_change(out, diff, change); });
  json.close();
  output.pending() += '\n';
}

}  // namespace proctor
