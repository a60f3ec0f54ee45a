#include "reports/history/write_run.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/core/digest.h"
#include "reports/formats/json_writer.h"
#include "reports/history/read_run.h"

namespace proctor {
namespace {

// Names to numbers, through a table that has each name once.
class Numbers {
 public:
  Numbers(Database& database, const std::string& table, const std::string& column)
      : database_(database),
        find_(database, "SELECT id FROM " + table + " WHERE " + column + " = ?"),
        insert_(database, "INSERT INTO " + table + " (" + column + ") VALUES (?)") {}

  std::int64_t of(const std::string& name) {
    const auto [known, is_new] = known_.try_emplace(name, 0);
    if (is_new) known->second = look_up(name);
    return known->second;
  }
  // The same for a name that is asked for once.
  std::int64_t look_up(std::string_view name) {
    find_.bind(name);
    if (find_.step()) {
      const std::int64_t id = find_.integer(0);
      find_.reset();
      return id;
    }
    insert_.run(name);
    return database_.last_id();
  }
  std::optional<std::int64_t> of_any(const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(of(name));
  }

 private:
  Database& database_;
  Statement find_;
  Statement insert_;
  std::unordered_map<std::string, std::int64_t> known_;
};

std::string facts_text(const std::vector<StackFact>& facts) {
  std::string text;
  TextOutput output([&](std::string_view piece) { text += piece; });
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
  output.flush();
  return text;
}

std::int64_t stack_number(Database& database, const std::vector<StackFact>& facts) {
  const std::string text = facts_text(facts);
  const std::string digest = sha256_hex(text);
  Statement find(database, "SELECT id FROM stack WHERE digest = ?");
  find.bind(digest);
  if (find.step()) return find.integer(0);
  Statement(database, "INSERT INTO stack (digest, facts) VALUES (?, ?)").run(digest, text);
  return database.last_id();
}

std::int64_t variant_number(Database& database, const Variant& variant) {
  Statement find(database,
                 "SELECT id FROM variant WHERE suite = ? AND backend = ? AND stack_name = ? AND device_model "
                 "= ? AND simulated = ?");
  const auto give = [&](Statement& statement) {
    statement.bind(variant.suite, variant.backend, variant.stack, variant.device_model, variant.simulated);
    return statement.step();
  };
  if (give(find)) return find.integer(0);
  Statement insert(
      database,
      "INSERT INTO variant (suite, backend, stack_name, device_model, simulated) VALUES (?, ?, ?, ?, ?)");
  give(insert);
  return database.last_id();
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
           stack_number(database, run.stack), run.exit_code, run.verdict, run.simulated, run.complete);
  const std::int64_t id = database.last_id();
  Statement program(database, "INSERT INTO program VALUES (?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < run.programs.size(); ++i)
    program.run(id, i, run.programs[i].suite, run.programs[i].backend, run.programs[i].sha256);
  return id;
}

// Every number of its cases in the file.
struct Numbered {
  std::vector<std::int64_t> tests{};  // by place in RunResults::cases, and so on
  std::vector<std::int64_t> variants{};
  std::vector<std::int64_t> causes{};
};

Numbered numbers_of(Database& database, const RunResults& run) {
  Numbered numbered;
  Numbers tests(database, "test", "case_id");
  for (const CaseResult& result : run.cases) numbered.tests.push_back(tests.look_up(result.id));
  for (const Variant& variant : run.variants) numbered.variants.push_back(variant_number(database, variant));
  Numbers causes(database, "cause", "key");
  for (const Cause& cause : run.causes) numbered.causes.push_back(causes.look_up(cause.key));
  return numbered;
}

void write_summaries(Database& database, std::int64_t id, const std::vector<std::int64_t>& variants) {
  VariantSummaries counted = counted_summaries(database, id);
  Statement insert(database, "INSERT INTO run_variant VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const std::int64_t variant : variants) {
    const VariantSummary& of = counted[variant];
    const auto& by = of.by_standing;
    insert.run(id, variant, by[0], by[1], by[2], by[3], of.flaky, BlobValue{packed(of.ran)});
  }
}

void write_measures(Database& database, std::int64_t id, const RunResults& run, const Numbered& numbered,
                    const std::vector<std::size_t>& order) {
  std::map<std::pair<std::string, std::string>, std::int64_t> metrics;
  Statement find(database, "SELECT id FROM metric WHERE name = ? AND unit = ?");
  Statement add(database, "INSERT INTO metric (name, unit) VALUES (?, ?)");
  const auto number = [&](const Measure& measure) {
    const auto [known, is_new] = metrics.try_emplace({measure.name, measure.unit}, 0);
    if (!is_new) return known->second;
    if (find.bind(measure.name, measure.unit).step()) return known->second = find.integer(0);
    add.run(measure.name, measure.unit);
    return known->second = database.last_id();
  };
  Statement insert(database, "INSERT INTO measure VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const std::size_t at : order) {
    std::int64_t position = 0;
    for (const Measure& measure : run.cases[at].measures) {
      insert.run(id, numbered.tests[at], position++, number(measure), measure.value, measure.n,
                 measure.spread);
    }
  }
}

void write_devices(Database& database, std::int64_t id, const RunResults& run, Numbers& devices) {
  Statement insert(database, "INSERT OR IGNORE INTO used_device VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const UsedDevice& device : run.devices) {
    insert.run(id, devices.of(device.id), device.host, device.model, device.attempts, device.failed_attempts,
               device.drained);
  }
}

void write_results(Database& database, std::int64_t id, const RunResults& run) {
  const Numbered numbered = numbers_of(database, run);
  std::vector<std::size_t> order(run.cases.size());  // by test, so that each row is put behind the last
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return numbered.tests[at]; });
  Numbers reasons(database, "reason", "text");
  Numbers devices(database, "device", "name");
  Statement insert(database, "INSERT INTO result VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const std::size_t at : order) {
    const CaseResult& result = run.cases[at];
    insert.run(id, numbered.tests[at], numbered.variants[result.variant],
               static_cast<int>(result.verdict.outcome), static_cast<int>(result.standing),
               reasons.of_any(result.verdict.reason.text()),
               result.cause == kNoCause ? std::nullopt : std::optional(numbered.causes[result.cause]),
               result.attempts, result.flaky, result.duration_ms, devices.of_any(result.device));
  }
  Statement words(database, "INSERT INTO words VALUES (?, ?, ?)");
  for (const std::size_t at : order) {
    if (!run.cases[at].text.empty()) words.run(id, numbered.tests[at], run.cases[at].text);
  }
  Statement cause(database, "INSERT INTO cause_of_run VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < run.causes.size(); ++i) cause.run(id, numbered.causes[i], run.causes[i].text);
  write_devices(database, id, run, devices);
  write_summaries(database, id, numbered.variants);
  write_measures(database, id, run, numbered, order);
}

bool finds(Database& database, const char* sql, const std::string& name) {
  Statement statement(database, sql);
  return statement.bind(name).step();
}

// By which of two journals of one run the better one is known.
using Rank = std::tuple<bool, std::int64_t, std::string>;

Rank rank_of(const RunResults& run) {
  return {run.complete, std::ranges::count_if(run.cases, [](const auto& c) { return c.attempts > 0; }),
          run.journal_sha256};
}

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

// By which of two merged runs that share a shard the better one is known: shards from the newest on, whose ids begin with
// the time. It holds against each that was ever seen, so that the order of imports does not matter.
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
  database.execute(
      "DELETE FROM test WHERE id NOT IN (SELECT test FROM result);"
      "DELETE FROM reason WHERE id NOT IN (SELECT reason FROM result WHERE reason IS NOT NULL);"
      "DELETE FROM device WHERE id NOT IN (SELECT device FROM result WHERE device IS NOT NULL UNION SELECT "
      "device "
      "FROM used_device);"
      "DELETE FROM variant WHERE id NOT IN (SELECT variant FROM run_variant);"
      "DELETE FROM cause WHERE id NOT IN (SELECT cause FROM cause_of_run);"
      "DELETE FROM metric WHERE id NOT IN (SELECT metric FROM measure);"
      "DELETE FROM stack WHERE id NOT IN (SELECT stack FROM run);"
      "DELETE FROM merged_part WHERE merged NOT IN (SELECT other.merged FROM merged_part AS kept JOIN "
      "merged_part "
      "AS other ON other.shard = kept.shard WHERE kept.merged IN (SELECT run_id FROM run))");
}

}  // namespace proctor
