#include "reports/history/write_run.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/digest.h"
#include "reports/formats/json_writer.h"
#include "reports/history/read_run.h"

namespace proctor {
namespace {

std::string facts_text(const std::vector<StackFact>& facts) {
  return text_of([&](TextOutput& output) {
    JsonWriter json(output);
    json.open_array();
    for (const StackFact& fact : facts) {
      json.open_object().member("name", fact.name);
      if (fact.value) json.member("value", *fact.value);
      json.member_if_any("source", fact.source).member_if_any("reason", fact.reason);
      if (fact.absent) json.member("absent", true);
      json.close();
    }
    json.close();
  });
}

// Returns the number of the row with these facts, and adds the row if it does not exist.
std::int64_t stack_number(Database& database, const std::vector<StackFact>& facts) {
  const std::string text = facts_text(facts);
  const std::string digest = sha256_hex(text);
  Statement(database, "INSERT OR IGNORE INTO stack (digest, facts) VALUES (?, ?)").run(digest, text);
  Statement find(database, "SELECT id FROM stack WHERE digest = ?");
  find.bind(digest).step();
  return find.integer(0);
}

std::int64_t variant_number(Database& database, const Variant& variant) {
  const auto row_of = [&](const char* sql) {
    Statement statement(database, sql);
    statement.bind(variant.suite, variant.backend, variant.stack, variant.device_model, variant.simulated);
    return statement.step() ? statement.integer(0) : 0;
  };
  row_of(
      "INSERT OR IGNORE INTO variant (suite, backend, stack_name, device_model, simulated) "
      "VALUES (?, ?, ?, ?, ?)");
  return row_of(
      "SELECT id FROM variant WHERE (suite, backend, stack_name, device_model, simulated) = (?, ?, ?, ?, ?)");
}

std::int64_t write_run_row(Database& database, const RunResults& run) {
  const auto& dirty = run.subject.dirty.value;
  Statement(
      database,
      "INSERT INTO run (run_id, journal_sha256, started, subject_commit, dirty, branch, repository, build, "
      "plan, stack, exit_code, verdict, simulated, complete) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?)")
      .run(run.run_id, run.journal_sha256, run.started, run.subject.commit.value,
           dirty ? std::optional(*dirty == "true") : std::nullopt, run.subject.branch.value,
           run.subject.repository.value, run.subject.build.value, run.plan_digest,
           stack_number(database, run.stack), run.exit_code, to_string(run.verdict), run.simulated,
           run.complete);
  const std::int64_t id = database.last_id();
  Statement program(database, "INSERT INTO program VALUES (?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < run.programs.size(); ++i)
    program.run(id, i, run.programs[i].suite, run.programs[i].backend, run.programs[i].sha256);
  return id;
}

void write_summaries(Database& database, std::int64_t id, const std::vector<std::int64_t>& variants) {
  VariantSummaries counted = counted_summaries(database, id);
  Statement insert(database, "INSERT INTO run_variant VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const std::int64_t variant : variants) {
    const VariantSummary& of = counted[variant];
    const auto& by = of.by_result_class;
    insert.run(id, variant, by[0], by[1], by[2], by[3], of.flaky, BlobValue{packed(of.ran)});
  }
}

void write_measures(Database& database, std::int64_t id, const RunResults& run) {
  Statement metric(database, "INSERT OR IGNORE INTO metric (name, unit) VALUES (?, ?)");
  Statement insert(database,
                   "INSERT INTO measure SELECT ?, test.id, ?, metric.id, ?, ?, ? FROM test, metric "
                   "WHERE case_id = ? AND name = ? AND unit = ?");
  for (const CaseResult& result : run.cases) {
    std::int64_t position = 0;
    for (const Measure& measure : result.measures) {
      metric.run(measure.name, measure.unit);
      insert.run(id, position++, measure.value, measure.n, measure.spread, result.id, measure.name,
                 measure.unit);
    }
  }
}

void write_devices(Database& database, std::int64_t id, const RunResults& run) {
  Statement name(database, "INSERT OR IGNORE INTO device (name) VALUES (?)");
  Statement insert(
      database, "INSERT OR IGNORE INTO used_device SELECT ?, id, ?, ?, ?, ?, ? FROM device WHERE name = ?");
  for (const UsedDevice& device : run.devices) {
    name.run(device.id);
    insert.run(id, device.host, device.model, device.attempts, device.failed_attempts, device.drained,
               device.id);
  }
}

void write_causes(Database& database, std::int64_t id, const RunResults& run) {
  Statement key(database, "INSERT OR IGNORE INTO cause (key) VALUES (?)");
  Statement insert(database, "INSERT INTO cause_of_run SELECT ?, id, ? FROM cause WHERE key = ?");
  for (const Cause& cause : run.causes) {
    key.run(cause.key);
    insert.run(id, cause.text, cause.key);
  }
}

// A temporary table for the results of the run, with names in place of row numbers.
constexpr const char* kGiven = R"(
DROP TABLE IF EXISTS temp.given;
CREATE TEMP TABLE given (
  case_id TEXT, variant INTEGER, outcome INTEGER, result_class INTEGER, reason TEXT, cause TEXT, attempts INTEGER,
  flaky INTEGER, duration_ms INTEGER, device TEXT, text TEXT);
)";
constexpr const char* kNames = R"(
INSERT OR IGNORE INTO test (case_id) SELECT case_id FROM given;
INSERT OR IGNORE INTO reason (text) SELECT reason FROM given WHERE reason IS NOT NULL;
INSERT OR IGNORE INTO device (name) SELECT device FROM given WHERE device IS NOT NULL;
)";
// Ordered by test, so that SQLite appends each row.
constexpr const char* kResults = R"(
INSERT INTO result
SELECT ?, test.id, variant, outcome, result_class, reason.id, cause.id, attempts, flaky, duration_ms, device.id
  FROM given JOIN test USING (case_id) LEFT JOIN reason ON reason.text = given.reason
  LEFT JOIN cause ON cause.key = given.cause LEFT JOIN device ON device.name = given.device
 ORDER BY test.id
)";
constexpr const char* kWords =
    "INSERT INTO words SELECT ?, test.id, text FROM given JOIN test USING (case_id) "
    "WHERE text IS NOT NULL ORDER BY test.id";

std::optional<std::string_view> if_any(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void write_results(Database& database, std::int64_t id, const RunResults& run) {
  std::vector<std::int64_t> variants;
  for (const Variant& variant : run.variants) variants.push_back(variant_number(database, variant));
  write_causes(database, id, run);
  database.execute(kGiven);
  Statement insert(database, "INSERT INTO given VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const CaseResult& result : run.cases) {
    insert.run(result.id, variants[result.variant], static_cast<int>(result.verdict.outcome),
               static_cast<int>(result.result_class), if_any(result.verdict.reason.text()),
               result.cause == kNoCause ? std::nullopt : std::optional(run.causes[result.cause].key),
               result.attempts, result.flaky, result.duration_ms, if_any(result.device), if_any(result.text));
  }
  database.execute(kNames);
  Statement(database, kResults).run(id);
  Statement(database, kWords).run(id);
  write_devices(database, id, run);
  write_summaries(database, id, variants);
  write_measures(database, id, run);
}

bool finds(Database& database, const char* sql, const std::string& name) {
  Statement statement(database, sql);
  return statement.bind(name).step();
}

// The criteria by which the better of two journals of one run is selected.
using Rank = std::tuple<bool, std::int64_t, std::string>;

Rank rank_of(const RunResults& run) {
  return {run.complete, std::ranges::count_if(run.cases, [](const auto& c) { return c.attempts > 0; }),
          run.journal_sha256};
}

// A run in the file, and its rank.
struct StoredRun {
  std::int64_t id = 0;
  Rank rank{};
};

std::optional<StoredRun> find_run(Database& database, const std::string& run_id) {
  Statement row(database,
                "SELECT id, complete, (SELECT count(*) FROM result WHERE run = run.id AND attempts > 0), "
                "journal_sha256 FROM run WHERE run_id = ?");
  row.bind(run_id);
  if (!row.step()) return std::nullopt;
  return StoredRun{row.integer(0), {row.integer(1) != 0, row.integer(2), std::string(row.text(3))}};
}

void remove_if_there(Database& database, const std::string& run_id) {
  if (const auto stored = find_run(database, run_id)) remove_run(database, stored->id);
}

// The criteria by which the better of two merged runs that share a shard is selected: their shards, newest first. Ids
// begin with the time. A merged run is compared with all that were ever imported, so that the
// order of imports does not matter.
using MergedRank = std::pair<std::vector<std::string>, std::string>;

MergedRank rank_of_merged(Database& database, const std::string& merged) {
  MergedRank rank{{}, merged};
  Statement shard(database, "SELECT shard FROM merged_part WHERE merged = ? ORDER BY shard DESC");
  for (shard.bind(merged); shard.step();) rank.first.emplace_back(shard.text(0));
  return rank;
}

}  // namespace

std::string_view to_string(Added added) {
  switch (added) {
    case Added::kNew:
      return "added";
    case Added::kReplaced:
      return "replaces an earlier journal of this run";
    case Added::kAlreadyThere:
      return "is already imported";
    case Added::kOlder:
      return "a later journal of this run is already imported";
    case Added::kPartOfMerged:
      return "is part of a merged run that is already imported";
    case Added::kOtherMerged:
      return "a merged run with a newer shard is already imported";
  }
  return "";
}

bool note_merged(Database& database, const std::string& merged, const std::vector<std::string>& shards) {
  Statement insert(database, "INSERT OR IGNORE INTO merged_part VALUES (?, ?)");
  Statement find(database, "SELECT merged FROM merged_part WHERE shard = ?");
  std::set<std::string> others;
  for (const std::string& shard : shards) {
    insert.run(merged, shard);
    remove_if_there(database, shard);
    for (find.bind(shard); find.step();) others.emplace(find.text(0));
  }
  others.erase(merged);
  bool has_place = true;
  const MergedRank own = rank_of_merged(database, merged);
  for (const std::string& other : others) {
    if (own < rank_of_merged(database, other)) {
      has_place = false;
    } else {
      remove_if_there(database, other);
    }
  }
  return has_place;
}

Added write_run(Database& database, const RunResults& run) {
  if (finds(database, "SELECT 1 FROM run WHERE journal_sha256 = ?", run.journal_sha256))
    return Added::kAlreadyThere;
  if (finds(database, "SELECT 1 FROM merged_part WHERE shard = ?", run.run_id)) return Added::kPartOfMerged;
  if (!run.parts.empty() && !note_merged(database, run.run_id, run.parts)) return Added::kOtherMerged;
  const auto stored = find_run(database, run.run_id);
  if (stored && rank_of(run) < stored->rank) return Added::kOlder;
  if (stored) remove_run(database, stored->id);
  write_results(database, write_run_row(database, run), run);
  return stored ? Added::kReplaced : Added::kNew;
}

void remove_run(Database& database, std::int64_t id) {
  for (const char* table :
       {"result", "measure", "run_variant", "cause_of_run", "words", "program", "used_device"})
    Statement(database, std::string("DELETE FROM ") + table + " WHERE run = ?").run(id);
  Statement(database, "DELETE FROM run WHERE id = ?").run(id);
}

void remove_orphans(Database& database) {
  database.execute(R"(
    DELETE FROM test WHERE id NOT IN (SELECT test FROM result);
    DELETE FROM reason WHERE id NOT IN (SELECT reason FROM result WHERE reason IS NOT NULL);
    DELETE FROM device WHERE id NOT IN (SELECT device FROM result WHERE device IS NOT NULL
                                        UNION SELECT device FROM used_device);
    DELETE FROM variant WHERE id NOT IN (SELECT variant FROM run_variant);
    DELETE FROM cause WHERE id NOT IN (SELECT cause FROM cause_of_run);
    DELETE FROM metric WHERE id NOT IN (SELECT metric FROM measure);
    DELETE FROM stack WHERE id NOT IN (SELECT stack FROM run);
    DELETE FROM merged_part WHERE merged NOT IN (
      SELECT other.merged FROM merged_part AS kept JOIN merged_part AS other ON other.shard = kept.shard
      WHERE kept.merged IN (SELECT run_id FROM run)))");
}

}  // namespace proctor
