#include "reports/gate/gate_fixtures.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "harness/core/day.h"
#include "harness/core/digest.h"
#include "harness/core/journal_chain.h"
#include "harness/core/json.h"
#include "harness/core/read_file.h"
#include "harness/core/words.h"
#include "reports/gate/gate_formats.h"
#include "reports/model/test_journal.h"
#include "reports/render.h"

namespace proctor::testing_support {
namespace {

namespace fs = std::filesystem;

const std::string kFirstCard = "xpu:0000:03:00.0";
const std::string kSecondCard = "xpu:0000:04:00.0";
const std::string kProgram(64, 'b');
const Verdict kPassed{Outcome::kPass, ""};
const Verdict kFailed{Outcome::kFail, reason_in_words("wrong answer")};

std::vector<std::string> ids_of_plan() {
  return {"memory.xpu/Copy.A", "memory.xpu/Copy.B", "memory.xpu/Copy.C", "memory.xpu/Copy.D"};
}

// As `proctor plan` writes it, with what a gate reads of it.
std::string plan_text(const std::vector<std::string>& ids,
                      const nlohmann::json& extent = nlohmann::json::object()) {
  nlohmann::json plan = {
      {"format", "proctor-plan"},
      {"version", 1},
      {"plan_digest", digest_of_plan(ids, {})},
      {"suites", {{{"name", "memory"}, {"backend", "xpu"}, {"command", {"a \"b\"\n\x01"}}}}},
      {"cases", nlohmann::json::array()}};
  plan.update(extent);
  for (const std::string& id : ids)
    plan["cases"].push_back({{"id", id}, {"suite", 0}, {"needs", nullptr}, {"disabled", false}});
  plan["digest"] = sha256_hex(plan.dump());
  return plan.dump(1) + "\n";
}

std::string digest_of_file(const std::vector<std::string>& ids) {
  return nlohmann::json::parse(plan_text(ids))["digest"];
}

PlannedDevice card(const std::string& id, const std::string& name = "Intel Arc B580") {
  return {.id = id,
          .backend = "xpu",
          .name = name,
          .simulated = false,
          .uuid = "",
          .pci = id.substr(4),
          .pci_id = "8086:e20b",
          .capability = ""};
}

SceneRun good_run(const std::string& directory, const std::string& run_id) {
  SceneRun run;
  run.directory = directory;
  run.plan = plan_of({});
  run.plan.run_id = run_id;
  run.plan.command_line = {"proctor", "run", "--plan", "plan.json"};
  run.plan.narrowed =
      Narrowed{.options = {{"--plan", "plan.json", std::string(kToldByPlan)}}, .variables = {}};
  run.plan.devices = {card(kFirstCard), card(kSecondCard)};
  run.plan.shard = PlannedShard{1, 1, 4, digest_of_file(ids_of_plan())};
  run.plan.plan_digest = digest_of_plan(ids_of_plan(), {});
  run.plan.subject.commit = {"c0ffee", "GITHUB_SHA", ""};
  run.plan.subject.dirty = {"false", "git status", ""};
  run.plan.suites = {{"memory", "xpu", "proctor", {"memory"}, "/bin/memory", 7, ""}};
  run.plan.fingerprint = {{"image.stack", "xpu-rolling", "/etc/proctor/stack", "", false},
                          {"image.lock", "sha256:10c4", "/etc/proctor/stack", "", false}};
  run.extra = {ProgramRead{"/bin/memory", kProgram, ""}};
  for (const std::string& id : ids_of_plan()) run.cases.push_back({.id = id, .attempts = {kPassed}});
  run.cases.back().device = kSecondCard;
  return run;
}

// A run without --plan, and with these options.
void run_without_plan(SceneRun& run, std::vector<NarrowingOption> options = {}) {
  run.plan.shard.reset();
  run.plan.command_line = {"proctor", "run", "memory"};
  run.plan.narrowed = Narrowed{.options = std::move(options), .variables = {}};
}

std::vector<Event> events_of(const SceneRun& run) {
  RunPlanned plan = run.plan;
  for (const SceneCase& one : run.cases) {
    PlannedCase planned_case = planned(one.id);
    planned_case.suite = one.suite;
    plan.cases.push_back(planned_case);
  }
  std::vector<Event> events = {plan};
  for (const SceneCase& one : run.cases) {
    int number = 0;
    for (const Verdict& verdict : one.attempts) {
      AttemptStarted start = started(one.id, ++number);
      start.devices = {one.device};
      start.environment = run.environment;
      events.emplace_back(start);
      events.emplace_back(ended(one.id, verdict, number));
    }
    const bool over = one.end || !one.attempts.empty();
    if (over) events.emplace_back(concluded(one.id, one.end ? *one.end : one.attempts.back()));
  }
  events.insert(events.end(), run.extra.begin(), run.extra.end());
  if (run.ended) events.emplace_back(RunEnded{run.finished, 9000});
  return events;
}

std::string sealed(const std::vector<std::string>& lines) {
  JournalChain chain;
  std::string text;
  for (const std::string& line : lines) text += chain.append(line);
  return text;
}

// The text of a file, with one piece of it replaced.
void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = read_file_or_empty(path.string());
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  write_file(path, text);
}

void cut(const fs::path& path, std::size_t bytes) {
  const std::string text = read_file_or_empty(path.string());
  write_file(path, text.substr(0, text.size() - bytes));
}

// As somebody does who wants the reports to look right.
RenderedFiles render_again(const fs::path& run_dir) {
  const auto model = load_journal(run_dir / "journal.jsonl");
  if (!model) return {};
  const auto rendered = render(*model, run_dir);
  if (!rendered) throw std::runtime_error("failed to " + rendered.error().what);
  return *rendered;
}

void say_rendered(const fs::path& run_dir, const RenderedFiles& rendered) {
  const std::string journal = read_file_or_empty((run_dir / "journal.jsonl").string());
  JournalChain chain;
  chain.add(journal);
  write_file(run_dir / "journal.jsonl", journal + chain.append(rendered_record(rendered)));
}

HardwareEvidence evidence_of(const std::string& id, const std::string& when) {
  return {.id = id,
          .when = when,
          .pci = id.substr(4),
          .vendor = "8086",
          .device = "e20b",
          .kernel_driver = "xe",
          .driver_file = "/usr/lib/x86_64-linux-gnu/libze_intel_gpu.so.1.6",
          .driver_build_id = "1d2c3b",
          .boot_id = "b007"};
}

DeviceHealth probed(const std::string& id) { return {id, HealthFact::kL1Pass, "", 50, 0, 0, "copied"}; }

// Of each device at the start, then of each at the end.
std::vector<HardwareEvidence*> evidence_in(GateScene& scene) {
  std::vector<HardwareEvidence*> found;
  for (Event& event : scene.run().extra) {
    if (auto* evidence = std::get_if<HardwareEvidence>(&event)) found.push_back(evidence);
  }
  return found;
}

// ---- known failures ----

// An entry, as text and as it is judged.
struct SceneEntry {
  std::string cases = "memory.xpu/Copy.D";
  std::string reason = "wrong*";
  std::string device = "*B580*";
  std::string owner = "ann";
  std::string issue = "https://example.org/1";
  std::string added = "2026-01-21";
  std::string expires = "2026-02-20";
  bool predicted = false;
  std::vector<std::string> mistakes{};
};

std::string text_of(const SceneEntry& entry) {
  std::string text = "[[known_failure]]\n";
  const std::pair<const char*, const std::string*> texts[] = {{"case", &entry.cases},
                                                              {"reason", &entry.reason},
                                                              {"device", &entry.device},
                                                              {"owner", &entry.owner},
                                                              {"issue", &entry.issue}};
  for (const auto& [key, value] : texts) {
    if (!value->empty()) text += std::string(key) + " = \"" + *value + "\"\n";
  }
  if (entry.issue.empty()) text += "source = \"hearsay\"\n";
  if (!entry.added.empty()) text += "added = " + entry.added + "\n";
  if (entry.predicted) text += "predicted = true\n";
  return text + "expires = " + entry.expires + "\n";
}

// The list has these entries, and the last case fails.
GateScene known_failure_scene(const std::vector<SceneEntry>& entries = {SceneEntry{}}) {
  GateScene scene = good_scene();
  scene.gate_keys += "known_failures = \"known.toml\"\n";
  scene.run().cases.back().attempts = {kFailed};
  scene.run().cases.back().end = Verdict{Outcome::kXfail, reason_in_words("wrong answer")};
  scene.known_failures =
      GateKnownFailures{.file = "known.toml", .sha256 = std::string(64, 'c'), .entries = {}};
  std::string& text = scene.files["known.toml"];
  for (const SceneEntry& entry : entries) {
    const auto line = std::ranges::count(text, '\n') + 1;
    text += text_of(entry);
    GateKnownFailure judged{.cases = {entry.cases}, .reason = entry.reason, .device = entry.device};
    judged.owner = entry.owner;
    judged.issue = entry.issue;
    judged.expires = *parse_day(entry.expires);
    judged.predicted = entry.predicted;
    judged.mistakes = entry.mistakes;
    judged.origin = "known.toml:" + std::to_string(line);
    scene.known_failures->entries.push_back(std::move(judged));
  }
  return scene;
}

class WrongWays {
 public:
  using Change = std::function<void(GateScene&)>;

  void add(int number, const std::string& name, GateScene scene, const std::string& rule,
           std::vector<std::string> says, const Change& change) {
    change(scene);
    all_.push_back({number, name, std::move(scene), rule, std::move(says)});
  }
  void add(int number, const std::string& name, const std::string& rule, std::vector<std::string> says,
           const Change& change) {
    add(number, name, good_scene(), rule, std::move(says), change);
  }
  std::vector<WrongWay> take() { return std::move(all_); }

 private:
  std::vector<WrongWay> all_;
};

void add_ways_of_plans(WrongWays& ways) {
  ways.add(1, "a required cell without report", "report", {"kernels on B580", "no report fills this cell"},
           [](GateScene& scene) {
             scene.more_policy =
                 "[[cell]]\nname = \"kernels on B580\"\nsuite = \"kernels\"\nbackend = \"xpu\"\nhardware = "
                 "false\n";
             scene.gate_keys = "";
             scene.cell_keys += "hardware = false\n";
           });
  ways.add(2, "a shard with cases is missing", sharded_scene(), "shards",
           {"B580", "shard 2/4 is missing", "memory.xpu/Copy."},
           [](GateScene& scene) { scene.runs.erase(scene.runs.begin() + 1); });
  ways.add(2, "a shard without cases is missing", sharded_scene(), "shards", {"shard 4/4 is missing"},
           [](GateScene& scene) { scene.runs.pop_back(); });
  ways.add(2, "a shard is there twice", sharded_scene(), "shards",
           {"shard 2/4 is given 2 times", "memory.xpu/Copy.C"}, [](GateScene& scene) {
             SceneRun again = scene.runs[1];
             again.directory = "again";
             again.plan.run_id = "again";
             scene.runs.push_back(again);
           });
  ways.add(2, "what was merged out of shards, in their place", "shards",
           {"B580", "give the run directories of the shards"},
           [](GateScene& scene) { scene.run().plan.stack.emplace_back("shard.1", "run a on b"); });
  for (const auto& [index, count] : {std::pair{1, 2'147'483'647}, {1, 10'001}, {0, 1}, {2, 1}, {1, -1}}) {
    const std::string number = std::to_string(index) + "/" + std::to_string(count);
    ways.add(25, "shard " + number, "journal", {"shard " + number + " is not a valid shard number"},
             [&](GateScene& scene) {
               scene.run().plan.shard->index = index;
               scene.run().plan.shard->count = count;
             });
  }
  ways.add(2, "all but one of many shards are missing", "shards",
           {"shard 21/10000 is missing", "and 9979 more are missing"},
           [](GateScene& scene) { scene.run().plan.shard->count = 10'000; });
  ways.add(3, "nothing executed, and exit code 0", "executed",
           {"B580", "nothing was executed", "memory.xpu/Copy.A"}, [](GateScene& scene) {
             for (SceneCase& one : scene.run().cases)
               one = {.id = one.id, .attempts = {}, .end = Verdict{Outcome::kSkip, Reason::kNoDevice}};
             scene.run().plan.allow_no_device = true;
             scene.skips = "no_device = \"it is a build machine\"\n";
           });
  ways.add(4, "one planned id is missing", "ids",
           {"B580", "1 of 4 planned is in no report", "memory.xpu/Copy.C"}, [](GateScene& scene) {
             scene.run().cases.erase(scene.run().cases.begin() + 2);
             scene.cell_keys += "min_executed = 3\n";
           });
  ways.add(4, "one id is missing, and no plan names it", "ids", {"do not match the digest of its plan"},
           [](GateScene& scene) {
             scene.run().cases.pop_back();
             scene.run().cases.front().device = kSecondCard;
             run_without_plan(scene.run());
             scene.cell_keys =
                 "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\ndevice = \"*B580*\"\ndevices = 2\n";
           });
  ways.add(5, "the same ids with another command or limit", "plan",
           {"B580", "the same cases with another command, limit or rule"},
           [](GateScene& scene) { scene.run().plan.shard->plan = std::string(64, 'd'); });
  ways.add(5, "two programs were tested", sharded_scene(), "program", {"B580", "2 programs were tested"},
           [](GateScene& scene) {
             scene.runs[1].extra = {ProgramRead{"/bin/memory", std::string(64, 'e'), ""}};
           });
  ways.add(5, "another program was tested", "program", {"B580", "tested another program, " + kProgram},
           [](GateScene& scene) { scene.cell_keys += "program = \"" + std::string(64, 'e') + "\"\n"; });
  ways.add(5, "the program changed while it was tested", "program", {"has no digest: it was changed"},
           [](GateScene& scene) {
             scene.run().extra = {ProgramRead{"/bin/memory", "", "it was changed during the run"}};
           });
  ways.add(6, "a filter made the plan smaller", "plan", {"B580", "has another plan", "memory.xpu/Copy.D"},
           [](GateScene& scene) {
             scene.run().cases.pop_back();
             scene.run().plan.shard = PlannedShard{1, 1, 3, std::string(64, 'd')};
             scene.run().plan.plan_digest = std::string(64, 'f');
           });
  ways.add(6, "a label made the run smaller, and no plan names it", "plan",
           {"B580", "excluded cases, or may have: --label"}, [](GateScene& scene) {
             run_without_plan(scene.run(), {{"--label", "quick", std::string(kToldByPlan)}});
             scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\n";
           });
  ways.add(6, "a tag made the run smaller, and no plan names it", "plan", {"or may have: --tag"},
           [](GateScene& scene) {
             run_without_plan(scene.run(), {{"--tag", "quick", std::string(kToldByPlan)}});
             scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\n";
           });
  ways.add(6, "a run that was joined out of parts, of which one had a filter", "plan",
           {"joined from the tests of a CTest run", "so it fills no cell"}, [](GateScene& scene) {
             run_without_plan(scene.run());
             scene.run().plan.command_line = {"ctest"};
             scene.run().plan.stack.emplace_back("command.memory", "proctor run -- ./memory");
             scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\n";
           });
  ways.add(6, "a run that was joined out of parts, for a cell with a plan", "plan",
           {"joined from the tests of a CTest run"}, [](GateScene& scene) {
             scene.run().plan.shard.reset();
             scene.run().plan.stack.emplace_back("command.memory", "proctor run -- ./memory");
           });
  ways.add(27, "a debugger in place of the tested program", "options",
           {"B580", "was run with --debugger true"}, [](GateScene& scene) {
             scene.run().plan.narrowed.options.push_back({"--debugger", "true", ""});
           });
  ways.add(27, "a debugger in place of the tested program, and no plan names it", "options",
           {"B580", "was run with --debugger true"}, [](GateScene& scene) {
             run_without_plan(scene.run(), {{"--debugger", "true", ""}});
             scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\n";
           });
  const NarrowingVariable trace{"memory", "xpu", "PYTEST_ADDOPTS", "--trace", "caller", ""};
  ways.add(28, "a variable of the caller that makes a failing test pass", "variables",
           {"B580", "had PYTEST_ADDOPTS=--trace of the caller", "add it to `variables`"},
           [=](GateScene& scene) { scene.run().plan.narrowed.variables = {trace}; });
  ways.add(28, "a variable of the caller, and the policy allows another one", "variables",
           {"PYTEST_ADDOPTS=--trace of the caller"}, [=](GateScene& scene) {
             scene.run().plan.narrowed.variables = {trace};
             scene.gate_keys += "variables = [\"LD_LIBRARY_PATH\"]\n";
           });
  ways.add(28, "a variable of the suite, and no plan names it", "variables",
           {"PYTHONOPTIMIZE=1 of the suite"}, [](GateScene& scene) {
             run_without_plan(scene.run());
             scene.run().plan.narrowed.variables = {
                 {"memory", "xpu", "PYTHONOPTIMIZE", "1", "suite", std::string(kToldByPlan)}};
             scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\n";
           });
  ways.add(6, "a run without the plan", "plan", {"was run without --plan"},
           [](GateScene& scene) { scene.run().plan.shard.reset(); });
  ways.add(6, "another seed than the usual one, and no plan names it", "plan", {"or may have: --seed 7"},
           [](GateScene& scene) {
             run_without_plan(scene.run(), {{"--seed", "7", std::string(kToldByRule)}});
             scene.run().plan.seed = 7;
             scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\n";
           });
  ways.add(6, "a plan that tries each check with one point", "",
           {"plan.json: it was written with --point bytes=0"}, [](GateScene& scene) {
             scene.files["plan.json"] = plan_text(ids_of_plan(), {{"point", "bytes=0"}});
           });
  ways.add(7, "every case skipped, each with a reason", "executed",
           {"B580", "nothing was executed", "memory.xpu/Copy.B"}, [](GateScene& scene) {
             for (SceneCase& one : scene.run().cases)
               one.attempts = {{Outcome::kSkip, {Reason::kUnsupported, "fp64"}}};
             scene.skips = "\"unsupported:fp64\" = \"this product has none\"\n";
           });
  ways.add(7, "one case skipped, and no number allows it", "executed",
           {"only 3 cases were executed", "memory.xpu/Copy.B"}, [](GateScene& scene) {
             scene.run().cases[1].attempts = {{Outcome::kSkip, {Reason::kUnsupported, "fp64"}}};
             scene.skips = "\"unsupported:*\" = \"this product has none\"\n";
           });
  ways.add(8, "a skip for a reason that the policy does not know", "skips",
           {"B580", "needs:devices>=4", "memory.xpu/Copy.B"}, [](GateScene& scene) {
             scene.run().cases[1].attempts = {{Outcome::kSkip, {Reason::kNeeds, "devices>=4"}}};
             scene.cell_keys += "min_executed = 3\n";
           });
}

void add_ways_of_dates(WrongWays& ways) {
  ways.add(9, "a report of another commit", "subject", {"B580", "is c0ffee, and --subject is badcafe"},
           [](GateScene& scene) { scene.subject["commit"] = "badcafe"; });
  ways.add(9, "two cells of two commits", "subject", {"kernels on B580", "is badcafe", "is c0ffee"},
           [](GateScene& scene) {
             scene.subject.clear();
             scene.more_policy =
                 "[[cell]]\nname = \"kernels on B580\"\nsuite = \"kernels\"\nbackend = \"xpu\"\n";
             SceneRun other = good_run("other", "other");
             other.plan.subject.commit = {"badcafe", "GITHUB_SHA", ""};
             run_without_plan(other);
             other.plan.command_line = {"proctor", "run", "kernels"};
             other.plan.suites.front().name = "kernels";
             for (SceneCase& one : other.cases) one.suite = "kernels";
             scene.runs.push_back(other);
           });
  ways.add(9, "nobody says which commit", "subject", {"B580", "is unknown: no checkout"},
           [](GateScene& scene) {
             scene.subject.clear();
             scene.run().plan.subject.commit = {{}, "", "no checkout"};
           });
  ways.add(9, "a report of a dirty tree", "clean", {"B580", "uncommitted changes"},
           [](GateScene& scene) { scene.run().plan.subject.dirty.value = "true"; });
  ways.add(9, "nobody says whether the tree was dirty", "clean", {"it is unknown whether", "git is not here"},
           [](GateScene& scene) {
             scene.run().plan.subject.dirty = {{}, "", "git is not here"};
           });
  ways.add(10, "a report that is too old", "age", {"B580", "ended 73.0 h before"},
           [](GateScene& scene) { scene.at = "2026-02-03T13:00:00Z"; });
  ways.add(10, "a report of the future", "clock", {"B580", "but the time now is 2026-01-30T12:00:00Z"},
           [](GateScene& scene) { scene.at = "2026-01-30T12:00:00Z"; });
  ways.add(10, "a report whose dates do not fit its clock", "clock", {"it lasted 30.0 h by its dates"},
           [](GateScene& scene) {
             scene.run().finished = "2026-02-01T18:00:00Z";
             scene.at = "2026-02-01T19:00:00Z";
           });
  ways.add(11, "yesterday's run directory left in the workspace", "one_run",
           {"B580", "2 runs fill this cell", "yesterday"}, [](GateScene& scene) {
             SceneRun old = good_run("yesterday", "yesterday");
             old.plan.shard->plan = digest_of_file(ids_of_plan());
             old.plan.started = "2026-01-30T12:00:00Z";
             old.finished = "2026-01-30T12:00:09Z";
             for (SceneRun* run : {&old, &scene.run()}) run_without_plan(*run);
             scene.cell_keys =
                 "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\ndevice = \"*B580*\"\ndevices = 2\n";
             scene.runs.push_back(old);
           });
  ways.add(11, "only yesterday's run directory is there", "subject", {"B580", "is 01dc0de"},
           [](GateScene& scene) {
             scene.run().plan.started = "2026-01-30T12:00:00Z";
             scene.run().finished = "2026-01-30T12:00:09Z";
             scene.run().plan.subject.commit.value = "01dc0de";
           });
}

void add_ways_of_journals(WrongWays& ways) {
  ways.add(12, "the runner was killed after its last case, and the reports rendered since", "complete",
           {"B580", "the runner was killed"}, [](GateScene& scene) { scene.run().ended = false; });
  ways.add(12, "the runner was killed within a case", "unrun", {"memory.xpu/Copy.D", "notrun(interrupted)"},
           [](GateScene& scene) {
             scene.run().ended = false;
             scene.run().cases.back().attempts.clear();
           });
  ways.add(13, "a journal without its last records", "unrun", {"memory.xpu/Copy.D"}, [](GateScene& scene) {
    scene.run().change_lines = [](std::vector<std::string>& lines) { lines.resize(lines.size() - 5); };
  });
  ways.add(13, "a journal that is cut within a record", "", {"journal.jsonl:15", "ends within a record"},
           [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               cut(run_dir / "journal.jsonl", 10);
             };
           });
  ways.add(13, "an empty journal", "", {"run/journal.jsonl: it is empty"}, [](GateScene& scene) {
    scene.run().change_directory = [](const fs::path& run_dir) { write_file(run_dir / "journal.jsonl", ""); };
  });
  ways.add(13, "a journal that is no file of JSON", "", {"journal.jsonl:1", "not JSON"},
           [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               write_file(run_dir / "journal.jsonl", "all is good\n");
             };
           });
  ways.add(13, "the same journal twice", "once", {"is given more than once"}, [](GateScene& scene) {
    SceneRun again = scene.run();
    again.directory = "copy";
    scene.runs.push_back(again);
  });
  ways.add(13, "a journal of a newer version", "", {"journal.jsonl:1: it is of version 2"},
           [](GateScene& scene) {
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               for (std::string& line : lines) line.replace(0, 6, "{\"v\":2");
             };
           });
  ways.add(13, "a journal whose plan does not say which options it had", "",
           {"journal.jsonl:1", "it is damaged: the plan has no `narrowed`"}, [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "journal.jsonl", "\"narrowed\":", "\"narrow\":");
             };
           });
  ways.add(13, "a journal with a second plan", "", {"journal.jsonl:2: it holds a second plan"},
           [](GateScene& scene) {
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               lines.insert(lines.begin(), lines.front());
             };
           });
  ways.add(13, "a journal that is a link", "", {"it is a link"}, [](GateScene& scene) {
    scene.run().change_directory = [](const fs::path& run_dir) {
      fs::rename(run_dir / "journal.jsonl", run_dir / "elsewhere");
      fs::create_symlink("elsewhere", run_dir / "journal.jsonl");
    };
  });
  ways.add(25, "report.json is not what the journal renders to", "rendered",
           {"B580", "report.json is not what"}, [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "report.json", "Copy.A", "Copy.Z");
             };
           });
  ways.add(25, "report.json is not what its runner says that it rendered", "rendered",
           {"B580", "report.json is not what"}, [](GateScene& scene) {
             scene.run().says_rendered = true;
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "report.json", "Copy.A", "Copy.Z");
             };
           });
  ways.add(25, "a changed report, and its digest in the journal", "journal", {"does not fit those before it"},
           [](GateScene& scene) {
             scene.run().says_rendered = true;
             scene.run().change_directory = [](const fs::path& run_dir) {
               const auto digest = [&] {
                 return sha256_hex(read_file_or_empty((run_dir / "report.json").string()));
               };
               const std::string before = digest();
               replace_in(run_dir / "report.json", "Copy.A", "Copy.Z");
               replace_in(run_dir / "journal.jsonl", before, digest());
             };
           });
  ways.add(25, "digests of reports that were rendered before the end of the run", "journal",
           {"lists rendered files before the end of the run"}, [](GateScene& scene) {
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               lines.insert(lines.end() - 1, rendered_record({{"report.json", "c0ffee"}}));
             };
           });
  ways.add(25, "digests of reports that were rendered twice", "journal", {"lists the rendered files twice"},
           [](GateScene& scene) {
             scene.run().says_rendered = true;
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               lines.push_back(rendered_record({{"report.json", "c0ffee"}}));
             };
           });
  ways.add(25, "the page is not what the journal renders to", "rendered", {"index.html is not what"},
           [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "index.html", "</title>", ": all is good</title>");
             };
           });
  ways.add(25, "a report of a suite that the journal does not have", "rendered",
           {"B580", "junit/extra.xml is not what"}, [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               write_file(run_dir / "junit/extra.xml", "<testsuite/>");
             };
           });
  ways.add(25, "a pipe in place of a report", "rendered", {"B580", "report.json is not what"},
           [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               fs::remove(run_dir / "report.json");
               ::mkfifo((run_dir / "report.json").c_str(), 0600);
             };
           });
  ways.add(25, "JUnit is not what the journal renders to", "rendered",
           {"junit.xml, junit/memory.xpu.xml is not what"}, [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               write_file(run_dir / "junit.xml", "");
               write_file(run_dir / "junit/memory.xpu.xml",
                          read_file_or_empty((run_dir / "junit/memory.xpu.xml").string()) + " ");
             };
           });
  ways.add(25, "a case that ended as no attempt did", "journal",
           {"B580", "it ended as pass, but no attempt did", "memory.xpu/Copy.B"}, [](GateScene& scene) {
             scene.run().cases[1].attempts = {};
             scene.run().cases[1].end = kPassed;
           });
  ways.add(25, "a failure that is edited into a pass", "journal", {"does not fit those before it"},
           [](GateScene& scene) {
             scene.run().cases[1].attempts = {kFailed};
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "journal.jsonl", R"("fail","reason":"wrong answer")",
                          R"("pass","reason":"")");
               render_again(run_dir);
             };
           });
  const auto said = [&ways](const std::string& name, const std::string& in_place, const std::string& of,
                            std::vector<std::string> says) {
    ways.add(25, name, "journal", std::move(says), [&](GateScene& scene) {
      scene.run().change_lines = [=](std::vector<std::string>& lines) {
        for (std::string& line : lines) {
          const auto at = line.find(of);
          if (at != line.npos && line.find("Copy.B") != line.npos) line.replace(at, of.size(), in_place);
        }
      };
    });
  };
  said("an attempt that passed, and ended with an exit code", R"("exit_code":1)", R"("exit_code":null)",
       {"its attempt 1 passed, but it exited with code 1", "memory.xpu/Copy.B"});
  said("an attempt that passed, and ended by a signal", R"("exit_signal":11)", R"("exit_signal":null)",
       {"its attempt 1 passed, but it was killed by signal 11", "memory.xpu/Copy.B"});
  ways.add(25, "a failed attempt under a skip", "journal",
           {"it ended as skip, but no attempt did", "memory.xpu/Copy.B"}, [](GateScene& scene) {
             scene.run().cases[1].attempts = {kFailed};
             scene.run().cases[1].end = Verdict{Outcome::kSkip, {Reason::kUnsupported, "fp64"}};
             scene.skips = "\"unsupported:*\" = \"this product has none\"\n";
             scene.cell_keys += "min_executed = 3\n";
           });
  ways.add(25, "an attempt on a device that the run does not have", "journal",
           {"it ran on xpu:0000:77:00.0, which is not a device of the run"},
           [](GateScene& scene) { scene.run().cases[1].device = "xpu:0000:77:00.0"; });
  ways.add(25, "an attempt that lasted longer than its run", "journal",
           {"its attempt 1 lasted 36001250 ms, and the run 9000 ms", "memory.xpu/Copy.A"},
           [](GateScene& scene) {
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               for (std::string& line : lines) {
                 const std::string from = "\"duration_ms\":1250";
                 const auto at = line.find(from);
                 if (at != line.npos) line.replace(at, from.size(), "\"duration_ms\":36001250");
               }
             };
           });
  ways.add(25, "a record of a moment before its run", "journal", {"the record is older than the run"},
           [](GateScene& scene) {
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               for (std::string& line : lines) {
                 const std::string from = "\"at_ms\":1350";
                 const auto at = line.find(from);
                 if (at != line.npos) line.replace(at, from.size(), "\"at_ms\":-1350");
               }
             };
           });
  ways.add(25, "a case that ends twice", "journal", {"the case ended twice", "memory.xpu/Copy.A"},
           [](GateScene& scene) {
             scene.run().cases.front().attempts = {kFailed};
             scene.run().extra.emplace_back(concluded("memory.xpu/Copy.A", kPassed));
           });
  ways.add(25, "a record about a case that was not planned", "journal", {"memory.xpu/Else"},
           [](GateScene& scene) { scene.run().extra.emplace_back(concluded("memory.xpu/Else", kPassed)); });
  ways.add(25, "records behind the end of the run", "journal", {"follows the end of the run"},
           [](GateScene& scene) {
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               std::iter_swap(lines.end() - 1, lines.end() - 2);
             };
           });
  ways.add(25, "a journal without digests", "journal", {"has no digest of what is before it"},
           [](GateScene& scene) {
             scene.run().change_directory = [](const fs::path& run_dir) {
               std::string text;
               const std::string whole = read_file_or_empty((run_dir / "journal.jsonl").string());
               for (const std::string_view line : lines_of(whole))
                 text += std::string(line.substr(0, line.find(",\"sum\":"))) + "}\n";
               write_file(run_dir / "journal.jsonl", text);
             };
           });
}

void add_ways_of_outcomes(WrongWays& ways) {
  ways.add(0, "a failure", "failed", {"B580", "1 case failed", "memory.xpu/Copy.A"},
           [](GateScene& scene) { scene.run().cases[0].attempts = {kFailed}; });
  ways.add(
      0, "a failure that is new", "failed",
      {"failed newly, and not in run old: memory.xpu/Copy.A", "failed before, in run old: memory.xpu/Copy.B"},
      [](GateScene& scene) {
        scene.run().cases[0].attempts = {kFailed};
        scene.run().cases[1].attempts = {kFailed};
        scene.baseline = GateBaseline{"run old", {"memory.xpu/Copy.B"}};
      });
  ways.add(0, "a case that was out of time", "unrun", {"notrun(budget)", "memory.xpu/Copy.A"},
           [](GateScene& scene) {
             scene.run().cases[0].attempts = {};
             scene.run().cases[0].end = Verdict{Outcome::kNotrun, Reason::kBudget};
             scene.cell_keys += "min_executed = 3\n";
           });
  ways.add(14, "a case that passed only on its second attempt", "flaky",
           {"B580", "passed only after a failure", "memory.xpu/Copy.A"}, [](GateScene& scene) {
             scene.run().cases[0].attempts = {kFailed, kPassed};
           });
  ways.add(14, "a flaky case that a known failure for another reason is about",
           known_failure_scene({SceneEntry{},
                                [] {
                                  SceneEntry other;
                                  other.cases = "memory.xpu/Copy.A";
                                  other.reason = "hangs*";
                                  return other;
                                }()}),
           "flaky", {"no known failure covers it", "memory.xpu/Copy.A"}, [](GateScene& scene) {
             scene.run().cases[0].attempts = {kFailed, kPassed};
             scene.more_policy = "[gate.flaky]\npercent = 25\n";
           });
  ways.add(14, "a flaky case within the percentage that no list knows", known_failure_scene(), "flaky",
           {"no known failure covers it", "memory.xpu/Copy.A"}, [](GateScene& scene) {
             scene.run().cases[0].attempts = {kFailed, kPassed};
             scene.more_policy = "[gate.flaky]\npercent = 25\n";
           });
  for (const Verdict& verdict : {Verdict{Outcome::kDeviceLost, reason_in_words("xid:79")},
                                 Verdict{Outcome::kError, Reason::kForeignHolder},
                                 Verdict{Outcome::kNotrun, Reason::kDeviceUnhealthy}}) {
    ways.add(15, "a failure of the machine, " + to_string(verdict), "machine",
             {"B580", "machine problem", "memory.xpu/Copy.A"}, [&](GateScene& scene) {
               scene.run().cases[0].attempts = {verdict};
               scene.cell_keys += "min_executed = 3\n";
             });
  }
  ways.add(15, "a card that fails what another one passes", "machine", {"memory.xpu/Copy.A"},
           [](GateScene& scene) {
             scene.run().cases[0].attempts = {kFailed, kPassed};
             scene.run().extra.emplace_back(
                 AttemptSuspected{"memory.xpu/Copy.A", 1, 1, kFirstCard, "it failed its probe"});
           });
  ways.add(15, "a report that could not be written", "machine", {"report_lost"}, [](GateScene& scene) {
    scene.run().extra.emplace_back(Warning{WarningCode::kReportLost, "no space left"});
  });

  ways.add(29, "an error of a card that the kernel logged while its case passed", "machine",
           {"the kernel logged an error of xpu:0000:03:00.0 at memory.xpu/Copy.A", "[Hardware Error]"},
           [](GateScene& scene) {
             scene.run().extra.emplace_back(DeviceHealth{
                 kFirstCard, HealthFact::kKernelLog, "memory.xpu/Copy.A", 50, 0, 0,
                 "xe:hardware_error: xe 0000:03:00.0: [Hardware Error]: Tile0 reported FATAL error 0x2"});
           });

  const auto known = [&ways](
                         const std::string& name, const std::string& rule, std::vector<std::string> says,
                         const std::vector<SceneEntry>& entries,
                         const WrongWays::Change& change = [](GateScene&) {}) {
    ways.add(16, name, known_failure_scene(entries), rule, std::move(says), change);
  };
  const auto entry = [](const std::string& mistake, const std::function<void(SceneEntry&)>& change) {
    SceneEntry changed;
    change(changed);
    if (!mistake.empty()) changed.mistakes = {mistake};
    return changed;
  };
  known("a known failure that has expired", "expected",
        {"B580", "known.toml:1", "expired on 2026-01-30, 1 day ago", "memory.xpu/Copy.D"},
        {entry("expired on 2026-01-30, 1 day ago", [](SceneEntry& e) { e.expires = "2026-01-30"; })});
  known("a known failure without owner", "expected", {"known.toml:1", "has no owner", "memory.xpu/Copy.D"},
        {entry("has no owner", [](SceneEntry& e) { e.owner = ""; })});
  known("a known failure without issue", "expected", {"has no issue"},
        {entry("has no issue", [](SceneEntry& e) { e.issue = ""; })});
  known("a known failure without a day of its own", "expected", {"has no date `added`"},
        {entry("has no date `added`", [](SceneEntry& e) { e.added = ""; })});
  known("a known failure for a year", "expected", {"covers 365 days"},
        {entry("covers 365 days", [](SceneEntry& e) { e.expires = "2027-01-21"; })});
  known("a known failure that covers a suite", "expected", {"would cover a whole suite", "memory.xpu/Copy.D"},
        {entry("would cover a whole suite", [](SceneEntry& e) { e.cases = "memory.xpu/*"; })});
  known("a known failure of many cases without `broad`", "expected", {"matches 6 planned cases"},
        {entry("matches 6 planned cases", [](SceneEntry& e) { e.cases = "memory.xpu/Copy.D*"; })},
        [](GateScene& scene) {
          std::vector<std::string> ids = ids_of_plan();
          for (const char* name : {"Copy.D1", "Copy.D2", "Copy.D3", "Copy.D4", "Copy.D5"}) {
            ids.push_back(std::string("memory.xpu/") + name);
            SceneCase more = scene.run().cases.back();
            more.id = ids.back();
            scene.run().cases.push_back(more);
          }
          scene.plan_ids = ids;
          scene.run().plan.shard = PlannedShard{1, 1, 9, digest_of_file(ids)};
          scene.run().plan.plan_digest = digest_of_plan(ids, {});
        });
  known("a failure for another reason than the known one", "expected",
        {"no known failure of the policy's list explains it", "memory.xpu/Copy.D"},
        {entry("", [](SceneEntry& e) { e.reason = "hangs*"; })});
  known("a known failure of another card", "expected", {"no known failure of the policy's list explains it"},
        {entry("", [](SceneEntry& e) { e.device = "*A770*"; })});
  known("a known failure of one card, and another one failed", "expected",
        {"no known failure of the policy's list explains it", "memory.xpu/Copy.D"}, {SceneEntry{}},
        [](GateScene& scene) {
          scene.run().plan.devices[1].name = "Intel Arc A770";
          scene.cell_keys = "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\nplan = \"plan.json\"\n";
        });
  known("a failure that the framework's marker expects, and no list", "expected", {"memory.xpu/Copy.A"},
        {SceneEntry{}}, [](GateScene& scene) {
          scene.run().cases[0].attempts = {{Outcome::kXfail, reason_in_words("see #12")}};
        });
  known("more known failures than the policy allows", "known_failures",
        {"1 known failure, and 0 are allowed"}, {SceneEntry{}},
        [](GateScene& scene) { scene.gate_keys += "max_known_failures = 0\n"; });
  known("a known failure that is about no case", "known_failures",
        {"known.toml:9", "matches no planned case"},
        {SceneEntry{}, entry("matches no planned case", [](SceneEntry& e) { e.cases = "memory.xpu/Gone"; })});
  known("a known failure that has expired, and nothing failed", "known_failures",
        {"known.toml:9", "expired on 2026-01-28", "memory.xpu/Copy.A"},
        {SceneEntry{}, entry("expired on 2026-01-28, 3 days ago", [](SceneEntry& e) {
           e.cases = "memory.xpu/Copy.A";
           e.expires = "2026-01-28";
         })});
  ways.add(17, "a known failure that passes", known_failure_scene(), "unexpected_pass",
           {"B580", "remove the entry", "memory.xpu/Copy.D"}, [](GateScene& scene) {
             scene.run().cases.back().attempts = {kPassed};
             scene.run().cases.back().end = Verdict{Outcome::kXpass, ""};
           });
  ways.add(17, "a known failure that passes in a run that did not know it", known_failure_scene(),
           "unexpected_pass", {"1 case passed although", "memory.xpu/Copy.D"}, [](GateScene& scene) {
             scene.run().cases.back().attempts = {kPassed};
             scene.run().cases.back().end = kPassed;
           });
}

void add_ways_of_hardware(WrongWays& ways) {
  const auto hardware = [&ways](int number, const std::string& name, const std::string& rule,
                                std::vector<std::string> says,
                                const std::function<void(GateScene&)>& change) {
    ways.add(number, name, hardware_scene(), rule, std::move(says), change);
  };
  hardware(18, "a simulated run", "hardware", {"B580", "is simulated: xpu:2x2"}, [](GateScene& scene) {
    scene.run().plan.sim = SimInfo{"xpu:2x2", "simgpu"};
    for (PlannedDevice& device : scene.run().plan.devices) device.simulated = true;
  });
  hardware(18, "a simulated run that does not say so", "hardware", {"no evidence at the start", kFirstCard},
           [](GateScene& scene) {
             std::erase_if(scene.run().extra, [](const Event& event) {
               return std::holds_alternative<HardwareEvidence>(event);
             });
           });
  ways.add(18, "a simulated run, with every word of it edited out of the journal", "journal",
           {"does not fit those before it"}, [](GateScene& scene) {
             scene.run().plan.sim = SimInfo{"xpu:2x2", "simgpu"};
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "journal.jsonl", R"("sim":{"topology":"xpu:2x2","driver":"simgpu"})",
                          R"("sim":null)");
               render_again(run_dir);
             };
           });
  hardware(19, "a simulator below a run that says it is real", "hardware",
           {"driver_file is a simulator", "libze_intel_sim.so"}, [](GateScene& scene) {
             for (HardwareEvidence* evidence : evidence_in(scene)) {
               evidence->driver_file = "/opt/proctor/lib/libze_intel_sim.so";
               evidence->simulator = true;
             }
           });
  hardware(19, "a driver that the loader was given", "hardware",
           {"B580", "the loader loaded another driver, /tmp/sim.so, by the suite"}, [](GateScene& scene) {
             scene.run().environment = {{"ZE_ENABLE_ALT_DRIVERS", "/tmp/sim.so", "suite"}};
           });
  hardware(19, "a device that the kernel's driver does not have", "hardware",
           {"kernel_driver is vfio-pci, and not xe or i915"},
           [](GateScene& scene) { evidence_in(scene).front()->kernel_driver = "vfio-pci"; });
  hardware(19, "a driver that is unknown", "hardware", {"driver_build_id: failed to read it"},
           [](GateScene& scene) {
             evidence_in(scene).back()->driver_build_id = "";
             evidence_in(scene).back()->gaps = {"driver_build_id: failed to read it"};
           });
  hardware(19, "nothing was computed on a device", "hardware", {"no health probe passed", kSecondCard},
           [](GateScene& scene) {
             std::erase_if(scene.run().extra, [](const Event& event) {
               const auto* health = std::get_if<DeviceHealth>(&event);
               return health != nullptr && health->device == kSecondCard;
             });
           });
  hardware(20, "a report of another machine", "hardware",
           {"pci is 0000:99:00.0, and the probe found 0000:03:00.0"},
           [](GateScene& scene) { evidence_in(scene).front()->pci = "0000:99:00.0"; });
  hardware(20, "evidence of two machines", "hardware", {"boot_id was b007 at the start, and b008 at the end"},
           [](GateScene& scene) { evidence_in(scene).back()->boot_id = "b008"; });
  ways.add(20, "a report whose date was moved", "journal", {"does not fit those before it"},
           [](GateScene& scene) {
             scene.at = "2026-03-01T13:00:00Z";
             scene.run().change_directory = [](const fs::path& run_dir) {
               replace_in(run_dir / "journal.jsonl", "2026-01-31T12:", "2026-03-01T12:");
               render_again(run_dir);
             };
           });
  const auto on_stack = [](GateScene& scene) {
    scene.cell_keys += "stack = \"xpu-rolling\"\n";
    scene.locks["xpu-rolling"] = GateLock{.sha256 = "10c4", .differences = {}};
  };
  ways.add(21, "a stack that is not the lock's", "stack",
           {"B580", "lock sha256:10c4, but the lock is sha256:ffff"}, [=](GateScene& scene) {
             on_stack(scene);
             scene.locks["xpu-rolling"].sha256 = "ffff";
           });
  ways.add(21, "a run of another stack", "report", {"B580", "is of the stack xpu-lts"},
           [=](GateScene& scene) {
             on_stack(scene);
             scene.run().plan.fingerprint.front().value = "xpu-lts";
           });
  ways.add(21, "a stack that was read below another directory", "stack",
           {"read its stack below another directory: --stack-root"}, [=](GateScene& scene) {
             on_stack(scene);
             scene.run().plan.narrowed.options.push_back(
                 {"--stack-root", "/tmp/forged", std::string(kToldByRule)});
           });
  hardware(21, "hardware, and a stack of another directory", "hardware", {"--stack-root"},
           [](GateScene& scene) {
             scene.run().plan.narrowed.options.push_back({"--stack-root", "/tmp", std::string(kToldByRule)});
           });
  ways.add(21, "a stack that changed during the run", "stack_kept", {"B580", "kmd.xe: 1, then 2"},
           [](GateScene& scene) {
             scene.run().extra.emplace_back(Warning{WarningCode::kStackChanged, "kmd.xe: 1, then 2"});
           });
  ways.add(22, "one of two required cards executed nothing", "devices",
           {"B580", "1 device executed something, and 2 must", "gpu-07/" + kSecondCard},
           [](GateScene& scene) { scene.run().cases.back().device = kFirstCard; });
  ways.add(22, "one card under two names of its machine", sharded_scene(), "devices",
           {"1 device executed something, and 2 must"}, [](GateScene& scene) {
             for (SceneRun& run : scene.runs) {
               run.plan.hostname = run.directory;
               run.plan.devices.resize(1);
               run.plan.devices.front().uuid = "8680-0be2-01";
               for (SceneCase& one : run.cases) one.device = kFirstCard;
             }
           });
  ways.add(22, "one case ran on another card", "model", {"B580", kSecondCard + ", which is Intel Arc A770"},
           [](GateScene& scene) {
             scene.run().plan.devices.push_back(card("xpu:0000:05:00.0"));
             scene.run().plan.devices[1].name = "Intel Arc A770";
             scene.run().cases[1].device = "xpu:0000:05:00.0";
           });
  ways.add(0, "a soak that is too short", "soak", {"0.001 device hours, and 15 are required"},
           [](GateScene& scene) { scene.cell_keys += "soak = { device_hours = 15, resets = 0 }\n"; });
  ways.add(0, "a soak of attempts that overlap on one device", "soak",
           {"0.005 device hours, and 0.009 are required"}, [](GateScene& scene) {
             scene.cell_keys += "soak = { device_hours = 0.009, resets = 0 }\n";
             scene.run().change_lines = [](std::vector<std::string>& lines) {
               for (std::string& line : lines) {
                 const std::string from = "\"duration_ms\":1250";
                 const auto at = line.find(from);
                 if (at != line.npos) line.replace(at, from.size(), "\"duration_ms\":9000");
               }
             };
           });
  ways.add(0, "a journal that nobody signed", "signed", {"B580", "is not in digests.txt"},
           [](GateScene& scene) {
             scene.gate_keys += "signed = \"digests.txt\"\n";
             scene.signed_digests = std::set<std::string>{std::string(64, '0')};
             scene.files["digests.txt"] = std::string(64, '0') + "  journal.jsonl\n";
           });
}

void add_ways_of_policies(WrongWays& ways) {
  const auto policy = [&ways](int number, const std::string& name, std::vector<std::string> says,
                              const std::function<void(GateScene&)>& change) {
    ways.add(number, name, "", std::move(says), change);
  };
  const std::string cell = "[[cell]]\nsuite = \"memory\"\nbackend = \"xpu\"\n";
  const auto whole = [&](int number, const std::string& name, const std::string& text,
                         std::vector<std::string> says) {
    policy(number, name, std::move(says), [&](GateScene& scene) { scene.whole_policy = text; });
  };
  whole(23, "a policy that weakens a rule twice", "[gate]\nhardware = false\n" + cell + "hardware = false\n",
        {"gate.toml:6", "`hardware` weakens what [gate] weakens already on line 2"});
  whole(23, "a policy that says a key twice", "[gate]\nclean = true\nclean = false\n" + cell,
        {"gate.toml:3"});
  whole(23, "a policy that accepts a skip twice",
        "[skips]\n\"needs:*\" = \"a\"\n\"needs:cards>=4\" = \"b\"\n" + cell,
        {"gate.toml:3", "`needs:cards>=4` in [skips] weakens what `needs:*` weakens already on line 2"});
  whole(23, "a policy that weakens by a key of another table", "[gate]\npercent = 5\n" + cell,
        {"gate.toml:2", "unknown key `percent` in [gate]"});
  whole(23, "a policy that accepts every skip", "[skips]\n\"*\" = \"all of them\"\n" + cell,
        {"gate.toml:2", "covers every reason"});
  whole(26, "an empty policy", "", {"gate.toml:", "has no [[cell]]"});
  whole(26, "a policy without cells", "version = 1\n[gate]\nclean = true\n", {"has no [[cell]]"});
  whole(26, "a misspelt key", "[gate]\nmax_agee = \"1h\"\n" + cell,
        {"gate.toml:2: unknown key `max_agee` in [gate]"});
  whole(26, "a wrong table", "[gates]\nclean = true\n" + cell, {"gate.toml:1: unknown key `gates`"});
  whole(26, "a policy of a newer version", "version = 2\n" + cell, {"gate.toml:1", "version 2"});
  whole(26, "a cell that another cell repeats", cell + "name = \"a\"\n" + cell + "name = \"b\"\n",
        {"gate.toml:5: the cell `b` repeats the cell `a` of line 1"});
  policy(26, "a model that no device has", {"gate.toml:", "`device` = \"*B508*\"", "matches no device"},
         [](GateScene& scene) {
           scene.cell_keys =
               "suite = \"memory\"\nbackend = \"xpu\"\ndevice = \"*B508*\"\nplan = \"plan.json\"\n";
         });
  policy(26, "a reason that no skip has", {"gate.toml:", "`needs:cards>=8` in [skips] matches no skip"},
         [](GateScene& scene) { scene.skips = "\"needs:cards>=8\" = \"we have none\"\n"; });
  policy(26, "more executed cases than are planned",
         {"`min_executed` of the cell `B580` is 9, and its plan has 4 cases"},
         [](GateScene& scene) { scene.cell_keys += "min_executed = 9\n"; });
  ways.add(24, "two reports of one cell, of which the better one is meant to count", "one_run",
           {"B580", "2 runs fill this cell", "memory.xpu/Copy.A"}, [](GateScene& scene) {
             SceneRun bad = scene.run();
             bad.directory = "bad";
             bad.plan.run_id = "bad";
             bad.cases.front().attempts = {kFailed};
             for (SceneRun* run : {&bad, &scene.run()}) run->plan.shard.reset();
             scene.runs.insert(scene.runs.begin(), bad);
           });
  ways.add(0, "a suite that no cell asks for", "claimed",
           {"1 case of kernels.xpu on Intel Arc B580, which no cell covers"}, [](GateScene& scene) {
             scene.run().cases.push_back({.id = "kernels.xpu/Sum",
                                          .attempts = {kFailed},
                                          .end = {},
                                          .device = kFirstCard,
                                          .suite = "kernels"});
           });
  ways.add(0, "no older run, and the policy wants one", "baseline", {"--baseline or --history"},
           [](GateScene& scene) { scene.gate_keys += "baseline = \"required\"\n"; });
  ways.add(0, "the run itself as the older one", "baseline", {"run 1 is one of the judged runs"},
           [](GateScene& scene) {
             scene.gate_keys += "baseline = \"required\"\n";
             scene.baseline =
                 GateBaseline{.name = "run 1", .failed = {}, .no_past = "run 1 is one of the judged runs"};
           });
}

}  // namespace

GateScene good_scene() {
  GateScene scene;
  scene.gate_keys = "hardware = false\n";
  scene.cell_keys =
      "name = \"B580\"\nsuite = \"memory\"\nbackend = \"xpu\"\ndevice = \"*B580*\"\ndevices = 2\nplan = "
      "\"plan.json\"\n";
  scene.plan_ids = ids_of_plan();
  scene.runs = {good_run("run", "20260131T120000Z-ab12")};
  return scene;
}

GateScene unmet_prediction_scene() {
  SceneEntry predicted;
  predicted.predicted = true;
  GateScene scene = known_failure_scene({predicted});
  scene.run().cases.back().attempts = {kPassed};
  scene.run().cases.back().end = kPassed;
  return scene;
}

GateScene hardware_scene() {
  GateScene scene = good_scene();
  scene.gate_keys = "";
  for (const std::string& id : {kFirstCard, kSecondCard}) scene.run().extra.emplace_back(probed(id));
  for (const char* when : {"start", "end"}) {
    for (const std::string& id : {kFirstCard, kSecondCard})
      scene.run().extra.emplace_back(evidence_of(id, when));
  }
  return scene;
}

GateScene sharded_scene() {
  GateScene scene = good_scene();
  const SceneRun whole = scene.run();
  scene.runs.clear();
  for (int index = 1; index <= 4; ++index) {
    const std::string name = "shard" + std::to_string(index);
    SceneRun& shard = scene.runs.emplace_back(whole);
    shard.directory = name;
    shard.plan.run_id = name;
    shard.plan.shard->index = index;
    shard.plan.shard->count = 4;
    shard.cases.clear();
  }
  scene.runs[0].cases = {whole.cases[0], whole.cases[1]};
  scene.runs[1].cases = {whole.cases[2]};
  scene.runs[2].cases = {whole.cases[3]};
  scene.runs[3].plan.suites.clear();
  scene.runs[3].extra.clear();
  return scene;
}

std::vector<WrongWay> wrong_ways() {
  WrongWays ways;
  add_ways_of_plans(ways);
  add_ways_of_dates(ways);
  add_ways_of_journals(ways);
  add_ways_of_outcomes(ways);
  add_ways_of_hardware(ways);
  add_ways_of_policies(ways);
  return ways.take();
}

std::string policy_text(const GateScene& scene) {
  if (scene.whole_policy) return *scene.whole_policy;
  return "version = 1\n[gate]\n" + scene.gate_keys + (scene.skips.empty() ? "" : "[skips]\n" + scene.skips) +
         "[[cell]]\n" + scene.cell_keys + scene.more_policy;
}

void write_scene(const GateScene& scene, const fs::path& directory) {
  write_file(directory / "gate.toml", policy_text(scene));
  write_file(directory / "plan.json", plan_text(scene.plan_ids));
  for (const auto& [name, text] : scene.files) write_file(directory / name, text);
  for (const SceneRun& run : scene.runs) {
    const fs::path run_dir = directory / run.directory;
    fs::create_directories(run_dir);
    std::vector<std::string> lines;
    for (const Event& event : events_of(run)) lines.push_back(to_json_line(event));
    if (run.change_lines) run.change_lines(lines);
    write_file(run_dir / "journal.jsonl", sealed(lines));
    const RenderedFiles rendered = render_again(run_dir);
    if (run.says_rendered) say_rendered(run_dir, rendered);
    if (run.change_directory) run.change_directory(run_dir);
  }
}

Result<GateInputs> read_scene(const GateScene& scene, const fs::path& directory, bool backwards) {
  GateInputs inputs;
  auto policy = parse_gate_policy(policy_text(scene), "gate.toml");
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

std::string words_of(const GateVerdict& verdict) {
  std::string words;
  const auto add = [&words](const std::string& cell, const std::vector<GateFinding>& findings) {
    for (const GateFinding& finding : findings) {
      if (!finding.held)
        words += cell + ": " + finding.rule + ": " + joined(finding.says, "; ") + " [" +
                 joined(finding.cases, ", ") + "]\n";
    }
  };
  add("all runs", verdict.rules);
  for (const GateCellVerdict& cell : verdict.cells) add(cell.cell.name, cell.rules);
  return words;
}

}  // namespace proctor::testing_support
