#include "reports/compare/diff.h"
#include "reports/formats/json_writer.h"

namespace proctor {
namespace {

void write_variant(JsonWriter& json, const Variant& variant) {
  json.member("suite", variant.suite).member("backend", variant.backend).member("stack", variant.stack);
  json.member("device_model", variant.device_model).member("simulated", variant.simulated);
}

void write_run(std::string_view key, const RunResults& run, JsonWriter& json) {
  json.open_object(key).member("place", run.place).member("run_id", run.run_id);
  json.member("journal_sha256", run.journal_sha256).member("started", run.started);
  json.member("commit", run.subject.commit.value).member("plan_digest", run.plan_digest);
  json.member("exit_code", run.exit_code).member("verdict", run.verdict).member("simulated", run.simulated);
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
  if (result.cause != kNoCause) json.member("cause", words_of(run, result));
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
