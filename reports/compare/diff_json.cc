#include "reports/compare/diff.h"
#include "reports/formats/json_writer.h"

namespace proctor {
namespace {

void write_members(const Variant& variant, JsonWriter& json) {
  json.member("suite", variant.suite)
      .member("backend", variant.backend)
      .member("stack", variant.stack)
      .member("device_model", variant.device_model)
      .member("simulated", variant.simulated);
}

void write_run(std::string_view key, const RunResults& run, JsonWriter& json) {
  json.open_object(key)
      .member("place", run.place)
      .member("run_id", run.run_id)
      .member("journal_sha256", run.journal_sha256)
      .member("started", run.started)
      .member("commit", run.subject.commit.value)
      .member("plan_digest", run.plan_digest)
      .member("exit_code", run.exit_code)
      .member("verdict", run.verdict)
      .member("simulated", run.simulated)
      .member("complete", run.complete)
      .member("cases", run.cases.size());
  json.close();
}

void write_stack(const Comparison& comparison, JsonWriter& json) {
  json.open_array("stack");
  for (const FactChange& fact : comparison.stack) {
    json.open_object()
        .member("name", fact.name)
        .member("before", fact.before)
        .member("after", fact.after)
        .close();
  }
  json.close();
}

void write_programs(const Comparison& comparison, JsonWriter& json) {
  json.open_array("programs");
  for (const ProgramChange& program : comparison.programs) {
    json.open_object()
        .member("suite", program.suite)
        .member("backend", program.backend)
        .member("before", program.before)
        .member("after", program.after)
        .close();
  }
  json.close();
}

void write_counts(const Comparison& comparison, JsonWriter& json) {
  const auto counts = counts_of(comparison);
  json.open_object("counts");
  for (const Change change : kAllChanges)
    json.member(to_string(change), counts[static_cast<std::size_t>(change)]);
  json.close();
}

void write_variants(std::string_view key, const std::vector<Variant>& variants, JsonWriter& json) {
  json.open_array(key);
  for (const Variant& variant : variants) {
    json.open_object();
    write_members(variant, json);
    json.close();
  }
  json.close();
}

void write_result(std::string_view key, const RunResults& run, std::uint32_t index, JsonWriter& json) {
  if (index == kNotThere) {
    json.member(key, nullptr);
    return;
  }
  const CaseResult& result = run.cases[index];
  json.open_object(key)
      .member("id", result.id)
      .member("outcome", to_string(result.verdict.outcome))
      .member_if_any("reason", result.verdict.reason.text());
  if (result.cause != kNoCause) json.member("cause", words_of(run, result));
  if (result.flaky) json.member("flaky", true);
  json.close();
}

void write_change(const Diff& diff, const CaseChange& change, JsonWriter& json) {
  const bool is_there = change.after != kNotThere;
  const RunResults& run = is_there ? diff.after : diff.before;
  const CaseResult& result = run.cases[is_there ? change.after : change.before];
  json.open_object().member("class", to_string(change.change)).member("id", result.id);
  const Variant& variant = run.variants[result.variant];
  if (!is_unknown(variant)) {
    json.open_object("variant");
    write_members(variant, json);
    json.close();
  }
  write_result("before", diff.before, change.before, json);
  write_result("after", diff.after, change.after, json);
  if (!change.measures.empty()) {
    json.open_array("measures");
    for (const MeasureChange& measure : change.measures) {
      json.open_object()
          .member("name", measure.name)
          .member("unit", measure.unit)
          .member("before", measure.before)
          .member("after", measure.after)
          .close();
    }
    json.close();
  }
  json.close();
}

}  // namespace

void write_diff_json(const Diff& diff, TextOutput& output) {
  JsonWriter json(output);
  json.open_object().member("schema_version", kDiffSchemaVersion);
  write_run("before", diff.before, json);
  write_run("after", diff.after, json);
  write_stack(diff.comparison, json);
  write_programs(diff.comparison, json);
  write_counts(diff.comparison, json);
  json.member("compared", diff.comparison.compared).member("unchanged", diff.comparison.unchanged);
  write_variants("only_before", diff.comparison.only_before, json);
  write_variants("only_after", diff.comparison.only_after, json);
  json.open_array("changes");
  for (const CaseChange& change : diff.comparison.changes) write_change(diff, change, json);
  json.close().close();
  output.pending() += '\n';
}

}  // namespace proctor
