#include "reports/gate/gate_fixtures.h"

#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>

#include "harness/base/clock.h"
#include "harness/base/digest.h"
#include "harness/base/named_file.h"
#include "harness/base/read_file.h"
#include "harness/base/words.h"
#include "harness/journal/journal_chain.h"
#include "reports/render.h"
#include "reports/resolve/run_resolver.h"
#include "reports/resolve/test_journal.h"

namespace proctor::testing_support {
namespace {

namespace fs = std::filesystem;

const std::string kFirstCard = "xpu:0000:03:00.0";
const std::string kSecondCard = "xpu:0000:04:00.0";

std::vector<std::string> ids_of_plan() {
  return {"memory.xpu/Copy.A", "memory.xpu/Copy.B", "memory.xpu/Copy.C", "memory.xpu/Copy.D"};
}

std::string digest_of_file(const std::vector<std::string>& ids) {
  return parse_json(plan_text(ids))["digest"];
}

PlannedDevice card(const std::string& id) {
  return {.id = id,
          .backend = "xpu",
          .name = "Intel Arc B580",
          .simulated = false,
          .uuid = "",
          .pci = id.substr(4),
          .pci_id = "8086:e20b",
          .capability = ""};
}

Json record_of(const Event& event) { return parse_json(to_json_line(event)); }

// Parses a verdict such as "fail(wrong answer)".
Verdict verdict_of(const std::string& text) {
  const auto open = text.find('(');
  const auto outcome = parse_outcome(text.substr(0, open));
  if (!outcome) throw std::runtime_error(text + " has no outcome");
  return {*outcome, reason_in_words(open == text.npos ? "" : text.substr(open + 1, text.size() - open - 2))};
}

RunPlanned good_plan() {
  RunPlanned plan = plan_of({});
  plan.command_line = {"proctor", "run", "--plan", "plan.json"};
  plan.restrictions =
      Narrowed{.options = {{"--plan", "plan.json", std::string(kCoveredByPlan)}}, .variables = {}};
  plan.devices = {card(kFirstCard), card(kSecondCard)};
  plan.shard = PlannedShard{1, 1, 4, digest_of_file(ids_of_plan())};
  plan.plan_digest = digest_of_plan(ids_of_plan(), {});
  plan.subject.commit = {"c0ffee", "GITHUB_SHA", ""};
  plan.subject.dirty = {"false", "git status", ""};
  plan.suites = {{"memory", "xpu", "proctor", {"memory"}, "/bin/memory", 7, ""}};
  plan.fingerprint = {{"image.stack", "xpu-rolling", "/etc/proctor/stack", "", false},
                      {"image.lock", "sha256:10c4", "/etc/proctor/stack", "", false}};
  for (const std::string& id : ids_of_plan()) plan.cases.push_back(planned(id));
  return plan;
}

SceneRun good_run() {
  SceneRun run{.directory = "run", .records = {record_of(good_plan())}};
  run.records.push_back(record_of(RunEnded{"2026-01-31T12:00:09Z", 9000}));
  for (const std::string& id : ids_of_plan()) set_case(run, id, {"pass"});
  for (Json& record : run.records) {
    if (record["type"] == "attempt_started" && record["case"] == ids_of_plan().back())
      record["devices"] = {kSecondCard};
  }
  run.records.insert(run.records.end() - 1, record_of(ProgramRead{"/bin/memory", std::string(64, 'b'), ""}));
  return run;
}

// ---- Journals ----

// Writes a record like a runner, with the version first.
std::string line_of(Json record) {
  const std::string version = record["v"].dump();
  record.erase("v");
  return "{\"v\":" + version + "," + record.dump().substr(1);
}

std::string sealed(const std::vector<Json>& records) {
  JournalChain chain;
  std::string text;
  for (const Json& record : records) text += chain.append(line_of(record));
  return text;
}

// Renders the reports again after a change of the journal.
RenderedFiles render_again(const fs::path& run_dir) {
  const auto model = load_journal(run_dir / "journal.jsonl");
  if (!model) return {};
  const auto rendered = render(*model, run_dir);
  if (!rendered) throw std::runtime_error("failed to " + rendered.error().what);
  return *rendered;
}

void list_rendered(const fs::path& run_dir, const RenderedFiles& rendered) {
  const std::string journal = read_file_or_empty((run_dir / "journal.jsonl").string());
  JournalChain chain;
  chain.add(journal);
  write_file(run_dir / "journal.jsonl", journal + chain.append(rendered_record(rendered)));
}

// ---- Changes of files ----

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string without_digests(const std::string& journal) {
  std::string text;
  for (const std::string_view line : lines_of(journal))
    text += std::string(line.substr(0, line.find(",\"sum\":"))) + "}\n";
  return text;
}

// `change` has the name of the file, and one of: text, more, cut, from with to, without_digests, pipe, link. It may
// also have `and_digest`, which updates the file's digest in the journal, and `and_render`,
// which renders all reports again.
void change_file(const fs::path& run_dir, const Json& change) {
  const fs::path path = run_dir / change.at("name");
  const std::string before = read_file_or_empty(path.string());
  if (change.contains("text")) write_file(path, change["text"]);
  if (change.contains("more")) write_file(path, before + std::string(change["more"]));
  if (change.contains("cut"))
    write_file(path, before.substr(0, before.size() - change["cut"].get<std::size_t>()));
  if (change.contains("from")) write_file(path, replaced(before, change["from"], change["to"]));
  if (change.contains("without_digests")) write_file(path, without_digests(before));
  if (change.contains("pipe")) {
    fs::remove(path);
    ::mkfifo(path.c_str(), 0600);
  }
  if (change.contains("link")) {
    fs::rename(path, run_dir / change["link"]);
    fs::create_symlink(std::string(change["link"]), path);
  }
  if (change.contains("and_digest")) {
    const std::string journal = read_file_or_empty((run_dir / "journal.jsonl").string());
    const std::string after = read_file_or_empty(path.string());
    write_file(run_dir / "journal.jsonl", replaced(journal, sha256_hex(before), sha256_hex(after)));
  }
  if (change.contains("and_render")) render_again(run_dir);
}

// ---- Known failures ----

Json with_defaults(const Json& entry) {
  Json whole = {{"case", "memory.xpu/Copy.D"},
                {"reason", "wrong*"},
                {"device", "*B580*"},
                {"owner", "ann"},
                {"issue", "https://example.org/1"},
                {"added", "2026-01-21"},
                {"expires", "2026-02-20"},
                {"predicted", false},
                {"mistake", ""}};
  whole.update(entry);
  return whole;
}

std::string text_of(const Json& entry) {
  std::string text = "[[known_failure]]\n";
  for (const char* key : {"case", "reason", "device", "owner", "issue"}) {
    if (entry[key] != "") text += std::string(key) + " = " + entry[key].dump() + "\n";
  }
  if (entry["issue"] == "") text += "source = \"hearsay\"\n";
  if (entry["added"] != "") text += "added = " + std::string(entry["added"]) + "\n";
  if (entry["predicted"]) text += "predicted = true\n";
  return text + "expires = " + std::string(entry["expires"]) + "\n";
}

GateKnownFailure judged(const Json& entry, std::ptrdiff_t line) {
  GateKnownFailure failure{.cases = {entry["case"]}, .reason = entry["reason"], .device = entry["device"]};
  failure.owner = entry["owner"];
  failure.issue = entry["issue"];
  failure.expires = *parse_day(std::string(entry["expires"]));
  failure.predicted = entry["predicted"];
  if (entry["mistake"] != "") failure.mistakes = {entry["mistake"]};
  failure.origin = "known.toml:" + std::to_string(line);
  return failure;
}

}  // namespace

// ---- Changes of a scene ----

void add_gate_key(GateScene& scene, const std::string& line) {
  scene.policy.insert(scene.policy.find("[[cell]]"), line + "\n");
}

void set_case(SceneRun& run, const std::string& id, const std::vector<std::string>& attempts) {
  Json devices = {kFirstCard};
  auto place = run.records.end() - (run.records.back()["type"] == "run_ended" ? 1 : 0);
  for (auto record = run.records.begin(); record != run.records.end();) {
    if (record->value("case", std::string()) != id) {
      ++record;
      continue;
    }
    if ((*record)["type"] == "attempt_started") devices = (*record)["devices"];
    place = record = run.records.erase(record);
  }
  std::vector<Json> records;
  int number = 0;
  for (const std::string& verdict : attempts) {
    records.push_back(record_of(started(id, ++number)));
    records.back()["devices"] = devices;
    records.push_back(record_of(ended(id, verdict_of(verdict), number)));
  }
  if (!attempts.empty()) records.push_back(record_of(concluded(id, verdict_of(attempts.back()))));
  run.records.insert(place, records.begin(), records.end());
}

void set_end(SceneRun& run, const std::string& id, const std::string& verdict) {
  std::erase_if(run.records,
                [&](const Json& record) { return record["type"] == "case_ended" && record["case"] == id; });
  run.records.insert(run.records.end() - 1, record_of(concluded(id, verdict_of(verdict))));
}

void remove_case(SceneRun& run, const std::string& id) {
  set_case(run, id, {});
  Json& cases = run.plan()["cases"];
  cases.erase(std::ranges::find_if(cases, [&](const Json& planned) { return planned["id"] == id; }));
}

void expect_failures(GateScene& scene, const Json& entries) {
  add_gate_key(scene, "known_failures = \"known.toml\"");
  const std::string last = ids_of_plan().back();
  set_case(scene.run(), last, {"fail(wrong answer)"});
  set_end(scene.run(), last, "xfail(wrong answer)");
  scene.known_failures =
      GateKnownFailures{.file = "known.toml", .sha256 = std::string(64, 'c'), .entries = {}};
  std::string& text = scene.files["known.toml"];
  for (const Json& entry : entries) {
    const Json whole = with_defaults(entry);
    scene.known_failures->entries.push_back(judged(whole, std::ranges::count(text, '\n') + 1));
    text += text_of(whole);
  }
}

void plan_again(GateScene& scene) {
  Json& plan = scene.run().plan();
  scene.plan_ids.clear();
  for (const Json& planned : plan["cases"]) scene.plan_ids.push_back(planned["id"]);
  plan["shard"]["planned"] = scene.plan_ids.size();
  plan["shard"]["plan"] = digest_of_file(scene.plan_ids);
  plan["plan_digest"] = digest_of_plan(scene.plan_ids, {});
}

std::string plan_text(const std::vector<std::string>& ids, const Json& extent) {
  Json plan = {{"format", "proctor-plan"},
               {"version", kPlanFileVersion},
               {"plan_digest", digest_of_plan(ids, {})},
               {"suites", {{{"name", "memory"}, {"backend", "xpu"}, {"command", {"a \"b\"\n\x01"}}}}},
               {"cases", Json::array()}};
  plan.update(extent);
  for (const std::string& id : ids)
    plan["cases"].push_back({{"id", id}, {"suite", 0}, {"needs", nullptr}, {"disabled", false}});
  plan["digest"] = sha256_hex(plan.dump());
  return plan.dump(1) + "\n";
}

// ---- Scenes ----

GateScene good_scene() {
  GateScene scene;
  scene.policy =
      "version = 1\n[gate]\nhardware = false\n[[cell]]\nname = \"B580\"\nsuite = \"memory\"\nbackend = "
      "\"xpu\"\n"
      "device = \"*B580*\"\ndevices = 2\nplan = \"plan.json\"\n";
  scene.plan_ids = ids_of_plan();
  scene.runs = {good_run()};
  return scene;
}

GateScene hardware_scene() {
  GateScene scene = good_scene();
  const std::string_view relaxation = "hardware = false\n";
  scene.policy.erase(scene.policy.find(relaxation), relaxation.size());
  const auto add = [&scene](const Event& event) {
    auto& records = scene.run().records;
    records.insert(records.end() - 1, record_of(event));
  };
  for (const std::string& id : {kFirstCard, kSecondCard})
    add(DeviceHealth{id, HealthFact::kProbePassed, "", 50, 0, 0, "copied"});
  for (const char* when : {"start", "end"}) {
    for (const std::string& id : {kFirstCard, kSecondCard}) {
      add(HardwareEvidence{.id = id,
                           .when = when,
                           .pci = id.substr(4),
                           .vendor = "8086",
                           .device = "e20b",
                           .kernel_driver = "xe",
                           .driver_file = "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1.6",
                           .driver_build_id = "1d2c3b",
                           .boot_id = "b007"});
    }
  }
  return scene;
}

GateScene sharded_scene() {
  GateScene scene = good_scene();
  const SceneRun whole = scene.run();
  const std::vector<std::string> ids = ids_of_plan();
  const std::vector<std::vector<std::string>> parts = {{ids[0], ids[1]}, {ids[2]}, {ids[3]}, {}};
  scene.runs.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SceneRun& shard = scene.runs.emplace_back(whole);
    shard.directory = "shard" + std::to_string(i + 1);
    shard.plan()["run_id"] = shard.directory;
    shard.plan()["shard"]["index"] = i + 1;
    shard.plan()["shard"]["count"] = parts.size();
    for (const std::string& id : ids) {
      if (std::ranges::find(parts[i], id) == parts[i].end()) remove_case(shard, id);
    }
  }
  SceneRun& empty = scene.runs.back();
  empty.plan()["suites"] = Json::array();
  std::erase_if(empty.records, [](const Json& record) { return record["type"] == "program_read"; });
  return scene;
}

// ---- Files ----

void write_scene(const GateScene& scene, const fs::path& directory) {
  write_file(directory / "gate.toml", scene.policy);
  write_file(directory / "plan.json", plan_text(scene.plan_ids));
  for (const auto& [name, text] : scene.files) write_file(directory / name, text);
  for (const SceneRun& run : scene.runs) {
    const fs::path run_dir = directory / run.directory;
    fs::create_directories(run_dir);
    write_file(run_dir / "journal.jsonl", sealed(run.records));
    const RenderedFiles rendered = render_again(run_dir);
    if (run.lists_rendered) list_rendered(run_dir, rendered);
    for (const Json& change : run.files) change_file(run_dir, change);
  }
}

Result<GateInputs> read_scene(const GateScene& scene, const fs::path& directory, bool backwards) {
  GateInputs inputs;
  auto policy = parse_gate_policy(scene.policy, "gate.toml");
  if (!policy) return policy.error();
  inputs.policy = *std::move(policy);
  auto plan = parse_gate_plan(read_file_or_empty((directory / "plan.json").string()), "plan.json");
  if (!plan) return plan.error();
  inputs.plans.emplace("plan.json", *std::move(plan));
  note_weak_plans(inputs);
  for (const SceneRun& run : scene.runs) {
    auto report = read_gate_report(directory / run.directory, run.directory);
    if (!report) return report.error();
    inputs.reports.push_back(*std::move(report));
  }
  if (backwards) std::ranges::reverse(inputs.reports);
  inputs.known_failures = scene.known_failures;
  inputs.locks = scene.locks;
  inputs.signed_digests = scene.signed_digests;
  inputs.baseline = scene.baseline;
  inputs.subject = scene.subject;
  inputs.at = scene.at;
  return inputs;
}

std::string describe(const GateVerdict& verdict) {
  std::string words;
  const auto add = [&words](const std::string& cell, const std::vector<GateFinding>& findings) {
    for (const GateFinding& finding : findings) {
      if (!finding.held)
        words += cell + ": " + finding.rule + ": " + joined(finding.reasons, "; ") + " [" +
                 joined(finding.cases, ", ") + "]\n";
    }
  };
  add("all runs", verdict.rules);
  for (const GateCellVerdict& cell : verdict.cells) add(cell.cell.name, cell.rules);
  return words;
}

}  // namespace proctor::testing_support
