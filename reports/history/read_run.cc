#include "reports/history/read_run.h"

#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/json.h"

namespace proctor {
namespace {

constexpr std::int64_t kMostRows = 10'000'000;  // a larger row number means that the file is damaged

std::uint32_t number_of(std::int64_t id) {
  if (id < 0 || id > kMostRows) throw SqliteFailure{kDamaged, "a row has the number " + std::to_string(id)};
  return static_cast<std::uint32_t>(id);
}

std::optional<std::string> text_or_none(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(std::string(row.text(column)));
}

SubjectFact remembered(std::optional<std::string> value) {
  return value ? SubjectFact{.value = std::move(value), .source = "history"}
               : SubjectFact{.value = std::nullopt, .source = "", .reason = "the history does not have it"};
}

// Reads the remaining columns of the run, and its programs and devices.
void read_run_row(Database& database, const HistoryRun& run, RunResults& results) {
  Statement row(
      database,
      "SELECT subject_commit, dirty, branch, repository, build, exit_code, verdict, simulated, complete "
      "FROM run WHERE id = ?");
  row.bind(run.id);
  if (!row.step()) throw SqliteFailure{kDamaged, "a run is not there"};
  results.run_id = run.run_id;
  results.started = run.started;
  results.plan_digest = run.plan;
  results.journal_sha256 = run.journal_sha256;
  results.subject.commit = remembered(text_or_none(row, 0));
  results.subject.dirty = remembered(
      row.is_null(1) ? std::nullopt : std::optional<std::string>(row.integer(1) != 0 ? "true" : "false"));
  results.subject.branch = remembered(text_or_none(row, 2));
  results.subject.repository = remembered(text_or_none(row, 3));
  results.subject.build = remembered(text_or_none(row, 4));
  results.exit_code = static_cast<int>(row.integer(5));
  results.verdict = parse_run_verdict(row.text(6)).value_or(RunVerdict::kIncomplete);
  results.simulated = row.integer(7) != 0;
  results.complete = row.integer(8) != 0;
  Statement part(database, "SELECT shard FROM merged_part WHERE merged = ? ORDER BY shard");
  for (part.bind(run.run_id); part.step();) results.parts.emplace_back(part.text(0));
  Statement program(database, "SELECT suite, backend, sha256 FROM program WHERE run = ? ORDER BY position");
  for (program.bind(run.id); program.step();) {
    results.programs.push_back(
        {std::string(program.text(0)), std::string(program.text(1)), std::string(program.text(2))});
  }
  Statement device(
      database,
      "SELECT name, host, model, attempts, failed_attempts, drained FROM used_device JOIN device ON "
      "device.id = used_device.device WHERE run = ? ORDER BY host, name");
  for (device.bind(run.id); device.step();) {
    results.devices.push_back({.id = std::string(device.text(0)),
                               .host = std::string(device.text(1)),
                               .model = std::string(device.text(2)),
                               .attempts = static_cast<int>(device.integer(3)),
                               .failed_attempts = static_cast<int>(device.integer(4)),
                               .drained = device.integer(5) != 0});
  }
}

Variant variant_in(const Statement& row) {
  return {std::string(row.text(1)), std::string(row.text(2)), std::string(row.text(3)),
          std::string(row.text(4)), row.integer(5) != 0};
}

using Places = std::map<std::int64_t, std::uint32_t>;  // indexes by row number

std::uint32_t place_of(const Places& places, std::int64_t id) {
  const auto found = places.find(id);
  if (found == places.end()) throw SqliteFailure{kDamaged, "a result names what is not there"};
  return found->second;
}

Places read_causes_of(Database& database, std::int64_t run, RunResults& results) {
  Places places;
  Statement row(database,
                "SELECT cause.id, cause.key, cause_of_run.text FROM cause_of_run JOIN cause ON cause.id = "
                "cause_of_run.cause WHERE run = ? ORDER BY cause.key");
  for (row.bind(run); row.step();) {
    places.emplace(row.integer(0), static_cast<std::uint32_t>(results.causes.size()));
    results.causes.push_back({std::string(row.text(1)), std::string(row.text(2))});
  }
  return places;
}

Places read_variants_of(Database& database, std::int64_t run, RunResults& results) {
  Places places;
  Statement row(
      database,
      "SELECT id, suite, backend, stack_name, device_model, simulated FROM run_variant JOIN variant "
      "ON variant.id = run_variant.variant WHERE run = ? ORDER BY 2, 3, 4, 5, 6");
  for (row.bind(run); row.step();) {
    places.emplace(row.integer(0), static_cast<std::uint32_t>(results.variants.size()));
    results.variants.push_back(variant_in(row));
  }
  return places;
}

// Returns the measures of a run, by the row number of their test.
std::map<std::int64_t, std::vector<Measure>> read_measures_of(Database& database, std::int64_t run) {
  std::map<std::int64_t, std::vector<Measure>> measures;
  Statement row(database,
                "SELECT test, name, unit, value, n, spread FROM measure JOIN metric ON metric.id = "
                "measure.metric WHERE run = ? ORDER BY test, position");
  for (row.bind(run); row.step();) {
    measures[row.integer(0)].push_back({.name = std::string(row.text(1)),
                                        .value = row.real(3),
                                        .unit = std::string(row.text(2)),
                                        .n = row.integer(4),
                                        .spread = row.real(5)});
  }
  return measures;
}

}  // namespace

Outcome outcome_in(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kAllOutcomes.size()))
    throw SqliteFailure{kDamaged, "a result has the outcome " + std::to_string(number)};
  return static_cast<Outcome>(number);
}

ResultClass result_class_in(std::int64_t number) {
  if (number < 0 || number > static_cast<std::int64_t>(ResultClass::kNotrun))
    throw SqliteFailure{kDamaged, "a result has the result_class " + std::to_string(number)};
  return static_cast<ResultClass>(number);
}

namespace {

constexpr std::string_view kSelectRuns =
    "SELECT id, run_id, started, subject_commit, dirty, branch, plan, stack, journal_sha256 FROM run ";

HistoryRun run_in(const Statement& row) {
  return {.id = row.integer(0),
          .run_id = std::string(row.text(1)),
          .journal_sha256 = std::string(row.text(8)),
          .started = std::string(row.text(2)),
          .commit = std::string(row.text(3)),
          .dirty = row.integer(4) != 0,
          .branch = std::string(row.text(5)),
          .plan = std::string(row.text(6)),
          .stack = row.integer(7)};
}

}  // namespace

std::vector<HistoryRun> read_runs(Database& database) {
  std::vector<HistoryRun> runs;
  Statement row(database, std::string(kSelectRuns) + "ORDER BY started, run_id");
  while (row.step()) runs.push_back(run_in(row));
  return runs;
}

HistoryRun read_run(Database& database, std::int64_t id) {
  Statement row(database, std::string(kSelectRuns) + "WHERE id = ?");
  if (!row.bind(id).step()) throw SqliteFailure{kDamaged, "a run is not there"};
  return run_in(row);
}

std::vector<StackFact> read_stack(Database& database, std::int64_t stack) {
  Statement row(database, "SELECT facts FROM stack WHERE id = ?");
  row.bind(stack);
  std::vector<StackFact> facts;
  if (!row.step()) return facts;
  const auto json = parse_json(std::string(row.text(0)));
  if (!json.is_array()) throw SqliteFailure{kDamaged, "the facts of a stack cannot be read"};
  for (const auto& entry : json) {
    if (!entry.is_object()) continue;
    StackFact fact{.name = text_at(entry, "name"), .source = text_at(entry, "source")};
    if (const auto value = entry.find("value"); value != entry.end() && value->is_string())
      fact.value = value->get<std::string>();
    fact.reason = text_at(entry, "reason");
    fact.absent = entry.contains("absent");
    facts.push_back(std::move(fact));
  }
  return facts;
}

Variants read_variants(Database& database) {
  Variants variants;
  Statement row(database, "SELECT id, suite, backend, stack_name, device_model, simulated FROM variant");
  while (row.step()) variants[row.integer(0)] = variant_in(row);
  return variants;
}

std::vector<std::pair<std::uint32_t, std::string>> read_case_ids(Database& database) {
  std::vector<std::pair<std::uint32_t, std::string>> ids;
  Statement row(database, "SELECT id, case_id FROM test ORDER BY id");
  while (row.step()) ids.emplace_back(number_of(row.integer(0)), row.text(1));
  return ids;
}

RunResults read_results(Database& database, const HistoryRun& run) {
  RunResults results;
  read_run_row(database, run, results);
  results.stack = read_stack(database, run.stack);
  const Places causes = read_causes_of(database, run.id, results);
  const Places variants = read_variants_of(database, run.id, results);
  auto measures = read_measures_of(database, run.id);
  Statement row(database,
                "SELECT test.case_id, variant, outcome, reason.text, result_class, cause, attempts, flaky, "
                "duration_ms, device.name, test.id, words.text FROM result JOIN test ON test.id = "
                "result.test LEFT JOIN reason ON reason.id = result.reason LEFT JOIN device ON device.id = "
                "result.device LEFT JOIN words ON words.run = result.run AND words.test = result.test "
                "WHERE result.run = ? ORDER BY test.case_id");
  for (row.bind(run.id); row.step();) {
    results.cases.push_back(
        {.id = std::string(row.text(0)),
         .variant = place_of(variants, row.integer(1)),
         .cause = row.is_null(5) ? kNoCause : place_of(causes, row.integer(5)),
         .text = std::string(row.text(11)),
         .verdict = {outcome_in(row.integer(2)), reason_in_words(std::string(row.text(3)))},
         .result_class = result_class_in(row.integer(4)),
         .attempts = static_cast<int>(row.integer(6)),
         .flaky = row.integer(7) != 0,
         .duration_ms = row.integer(8),
         .device = std::string(row.text(9)),
         .measures = {}});
    if (const auto found = measures.find(row.integer(10)); found != measures.end())
      results.cases.back().measures = std::move(found->second);
  }
  return results;
}

VariantSummaries stored_summaries(Database& database, std::int64_t run) {
  VariantSummaries stored;
  Statement row(
      database,
      "SELECT variant, passing, failing, expected, unrun, flaky, ran FROM run_variant WHERE run = ?");
  for (row.bind(run); row.step();) {
    const VariantSummary summary{
        .by_result_class = {row.integer(1), row.integer(2), row.integer(3), row.integer(4)},
        .flaky = row.integer(5),
        .ran = unpacked(row.bytes(6))};
    if (summary != VariantSummary()) stored.emplace(row.integer(0), summary);
  }
  return stored;
}

VariantSummaries counted_summaries(Database& database, std::int64_t run) {
  VariantSummaries counted;
  Statement row(database,
                "SELECT variant, result_class, flaky, test FROM result WHERE run = ? ORDER BY test");
  for (row.bind(run); row.step();) {
    VariantSummary& summary = counted[row.integer(0)];
    const ResultClass result_class = result_class_in(row.integer(1));
    ++summary.by_result_class[static_cast<std::size_t>(result_class)];
    summary.flaky += row.integer(2);
    if (result_class == ResultClass::kPassing || result_class == ResultClass::kFailing)
      summary.ran.push_back(number_of(row.integer(3)));
  }
  return counted;
}

std::string packed(const std::vector<std::uint32_t>& sorted) {
  std::string bytes;
  std::uint32_t last = 0;
  for (const std::uint32_t number : sorted) {
    std::uint32_t rest = number - last;
    last = number;
    for (; rest >= 128; rest >>= 7) bytes += static_cast<char>(rest | 128U);
    bytes += static_cast<char>(rest);
  }
  return bytes;
}

std::vector<std::uint32_t> unpacked(std::string_view bytes) {
  std::vector<std::uint32_t> numbers;
  std::uint64_t last = 0;
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    value |= std::uint64_t{byte & 127U} << shift;
    shift += 7;
    if (byte >= 128 && shift < 35) continue;
    last += value;
    value = shift = 0;
    numbers.push_back(number_of(static_cast<std::int64_t>(last)));
  }
  return numbers;
}

}  // namespace proctor
