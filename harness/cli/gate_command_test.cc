// Tests `proctor gate` as a process: exit codes, output, and written files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/base/words.h"
#include "harness/journal/journal_chain.h"
#include "harness/testing/child.h"
#include "reports/gate/wrong_ways.h"
#include "reports/resolve/test_journal.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using testing::HasSubstr;

class GateCommand : public testing::Test {
 protected:
  Ended proctor(std::vector<std::string> words, const std::vector<std::string>& env = {}) const {
    words.insert(words.begin(), std::string(PROCTOR_BIN_DIR) + "/proctor");
    std::vector<std::string> all = {"GITHUB_ACTIONS", "XDG_CONFIG_HOME=/nonexistent",
                                    "XDG_RUNTIME_DIR=" + path().string()};
    all.insert(all.end(), env.begin(), env.end());
    return run_child(words, {.env = all, .directory = path().string()});
  }
  Ended gate(std::vector<std::string> words, const std::vector<std::string>& env = {}) const {
    words.insert(words.begin(), "gate");
    return proctor(std::move(words), env);
  }

  void write(GateScene scene) {
    scene_ = std::move(scene);
    write_scene(scene_, path());
  }
  std::vector<std::string> words() const {
    std::vector<std::string> all = {"--policy", "gate.toml", "--as-of", scene_.at};
    for (const auto& [name, value] : scene_.subject) all.insert(all.end(), {"--subject", name + "=" + value});
    for (const SceneRun& run : scene_.runs) all.push_back(run.directory);
    return all;
  }
  Ended judge(const std::vector<std::string>& more = {}, const std::vector<std::string>& env = {}) const {
    std::vector<std::string> all = words();
    all.insert(all.end(), more.begin(), more.end());
    return gate(all, env);
  }
  GateScene& scene() { return scene_; }
  const fs::path& path() const { return place_.empty() ? directory_.path() : place_; }
  void move_to(const std::string& name) {
    place_ = directory_.path() / name;
    fs::create_directory(place_);
  }

  // Creates a run of one command and a policy for it.
  void run_smoke() {
    const Ended run = proctor({"run", "--name", "smoke", "--subject", "commit=c0ffee", "--subject",
                               "dirty=false", "--out", "out", "--", "/bin/true"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    write_file(path() / "gate.toml", "[[cell]]\nsuite = \"smoke\"\nbackend = \"none\"\nhardware = false\n");
    EXPECT_EQ(gate({"--policy", "gate.toml", "out"}).exit_code, 0);
  }

 private:
  TempDir directory_;
  fs::path place_;  // a directory in directory_
  GateScene scene_ = good_scene();
};

// Returns whether the scene consists of files only. reports/gate/gate_test.cc tests locks and baselines without the
// program.
bool is_all_in_files(const GateScene& scene) { return scene.locks.empty() && !scene.baseline; }

TEST_F(GateCommand, PassesGoodReports) {
  write(sharded_scene());
  const Ended done = judge();
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("weaker gate.toml:3: gate.hardware = false (else: true)"));
  EXPECT_THAT(done.out, HasSubstr("passed B580: 4 of 4 executed"));
  EXPECT_THAT(done.out, HasSubstr("gate PASSED: 1 of 1 cell"));
}

TEST_F(GateCommand, RejectsEveryWrongWayInTable) {
  int number = 0;
  for (const WrongWay& way : wrong_ways()) {
    if (!is_all_in_files(way.scene)) continue;
    move_to(std::to_string(++number));
    write(way.scene);
    const Ended done = judge({"--json", "gate.json"});
    EXPECT_EQ(done.exit_code, way.rule.empty() ? 2 : 1) << way.name << "\n" << done.out << done.err;
    for (const std::string& part : way.contains)
      EXPECT_THAT(done.out + done.err, HasSubstr(part)) << way.name;
    EXPECT_EQ(fs::exists(path() / "gate.json"), done.exit_code == 1) << way.name;
  }
  EXPECT_GT(number, 50);
}

TEST_F(GateCommand, RequiresReadablePolicyAndReport) {
  write(good_scene());
  const Ended none = gate({"run"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("needs `--policy FILE`"));
  EXPECT_EQ(gate({"--policy", "", "run"}).exit_code, 2);
  const Ended missing = gate({"--policy", "gat.toml", "run"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("Did you mean `gate.toml`?"));
  EXPECT_EQ(gate({"--policy", "gate.toml"}).exit_code, 2);
  EXPECT_EQ(gate({"--policy", "run", "run"}).exit_code, 2);
}

TEST_F(GateCommand, AcceptsRunDirectoryOrFileInside) {
  write(good_scene());
  for (const char* report : {"run", "run/", "run/report.json", "run/journal.jsonl", "run/junit.xml"}) {
    const Ended done = gate({"--policy", "gate.toml", "--as-of", scene().at, report});
    EXPECT_EQ(done.exit_code, 0) << report << done.out << done.err;
  }
  fs::create_directory_symlink("run", path() / "latest");
  EXPECT_EQ(gate({"--policy", "gate.toml", "--as-of", scene().at, "latest"}).exit_code, 0);
  fs::create_directory(path() / "lone");
  fs::copy_file(path() / "run/report.json", path() / "lone/report.json");
  for (const char* report : {"lone/report.json", "lone", "nowhere"}) {
    const Ended done = gate({"--policy", "gate.toml", "--as-of", scene().at, report});
    EXPECT_EQ(done.exit_code, 2) << report;
  }
  EXPECT_THAT(gate({"--policy", "gate.toml", "lone/report.json"}).err,
              HasSubstr("a report without its journal is not evidence"));
}

TEST_F(GateCommand, SignedJournalsMatchDigestFile) {
  write(scene_after(R"({gate = "signed = \"digests.txt\""})"));
  EXPECT_EQ(judge().exit_code, 2) << "the file is not there";
  write_file(path() / "digests.txt", "\n");
  EXPECT_EQ(judge().exit_code, 1);
  const Ended sum = run_child({"sha256sum", (path() / "run/journal.jsonl").string()});
  write_file(path() / "digests.txt", sum.out);
  EXPECT_EQ(judge().exit_code, 0);
}

TEST_F(GateCommand, RejectsInvalidTimeOrSubject) {
  write(good_scene());
  for (const char* at : {"yesterday", "2026-02-31T12:00:00Z", "2026-1-31", "2026-01-31T12:00:00"})
    EXPECT_EQ(gate({"--policy", "gate.toml", "--as-of", at, "run"}).exit_code, 2) << at;
  EXPECT_EQ(gate({"--policy", "gate.toml", "--subject", "comit=1", "run"}).exit_code, 2);
  EXPECT_EQ(gate({"--policy", "gate.toml", "--subject", "dirty=false", "run"}).exit_code, 2);
}

TEST_F(GateCommand, LeavesNoPartialOutputOnFailure) {
  write(good_scene());
  EXPECT_EQ(judge({"--json", "gate.json", "--markdown", "nowhere/gate.md"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(path() / "gate.json"));
}

// A verdict must not overwrite an input.
TEST_F(GateCommand, RejectsOutputPathsThatOverwriteInputs) {
  write(good_scene());
  const auto refusal = [&](const std::vector<std::string>& more) {
    const Ended done = judge(more);
    EXPECT_EQ(done.exit_code, 2) << more.front() << done.out;
    return done.err;
  };
  EXPECT_THAT(refusal({"--json", ""}), HasSubstr("--json needs a value"));
  EXPECT_THAT(refusal({"--json", "gate.toml"}), HasSubstr("the gate reads gate.toml"));
  EXPECT_THAT(refusal({"--markdown", "./plan.json"}), HasSubstr("plan.json"));
  EXPECT_THAT(refusal({"--statement", "run/summary.md"}), HasSubstr("the gate reads run"));
  EXPECT_THAT(refusal({"--json", "g", "--markdown", "./g"}), HasSubstr("--json has the same file"));
  EXPECT_THAT(refusal({"--history", ""}), HasSubstr(""));
  EXPECT_FALSE(fs::exists(path() / "g"));
}

TEST_F(GateCommand, FailsWhenVerdictCannotBePrinted) {
  write(good_scene());
  std::string line = std::string(PROCTOR_BIN_DIR) + "/proctor gate --json gate.json >/dev/full";
  for (const std::string& word : words()) line += " '" + word + "'";
  const Ended done = run_child({"/bin/sh", "-c", line}, {.directory = path().string()});
  EXPECT_EQ(done.exit_code, 2) << done.err;
  EXPECT_THAT(done.err, HasSubstr("to stdout"));
  EXPECT_FALSE(fs::exists(path() / "gate.json"));
}

TEST_F(GateCommand, RejectsEmptyOversizedOrSpecialFailureLists) {
  write(scene_after(R"({gate = "known_failures = \"known.toml\""})"));
  write_file(path() / "known.toml", "# none\n");
  const Ended empty = judge();
  EXPECT_EQ(empty.exit_code, 2) << empty.out;
  EXPECT_THAT(empty.err, HasSubstr("known.toml has no [[known_failure]]"));
  fs::resize_file(path() / "known.toml", (std::uintmax_t{16} << 20) + 1);
  EXPECT_THAT(judge().err, HasSubstr("longer than 16 MiB"));
  fs::remove(path() / "known.toml");
  fs::create_symlink("/dev/zero", path() / "known.toml");
  EXPECT_THAT(judge().err, HasSubstr("is not a regular file or a pipe"));
}

TEST_F(GateCommand, RejectsPlanThatIsNotRegularFile) {
  write(good_scene());
  fs::remove(path() / "plan.json");
  fs::create_symlink("/dev/zero", path() / "plan.json");
  const Ended endless = gate({"--check", "gate.toml"});
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_THAT(endless.err, HasSubstr("plan.json is not a regular file (`plan` in gate.toml:4)"));
  fs::remove(path() / "plan.json");
  ASSERT_EQ(::mkfifo((path() / "plan.json").c_str(), 0600), 0);
  EXPECT_THAT(gate({"--check", "gate.toml"}).err, HasSubstr("is not a regular file"));
}

TEST_F(GateCommand, OutputIsIndependentOfLocaleAndOrder) {
  std::string first;
  for (const char* name : {"one", "two"}) {
    const bool second = !first.empty();
    move_to(name);
    write(sharded_scene());
    if (second) std::ranges::reverse(scene().runs);
    const std::vector<std::string> env =
        second ? std::vector<std::string>{"TZ=Asia/Kolkata", "LC_ALL=de_DE.UTF-8", "LANG=tr_TR.UTF-8"}
               : std::vector<std::string>{};
    EXPECT_EQ(judge({"--json", "g.json", "--markdown", "g.md", "--statement", "s.json"}, env).exit_code, 0);
    std::string text;
    for (const char* file : {"g.json", "g.md", "s.json"})
      text += read_file_or_empty((path() / file).string());
    ASSERT_NE(text, "");
    if (second) {
      EXPECT_EQ(text, first);
    }
    first = text;
  }
}

// Both make the gate fail, but the output separates them.
TEST_F(GateCommand, SeparatesNewFailuresFromEarlierFailures) {
  write(scene_after(R"(
      {copy_as = "old"}, {run = 0, cases = {"Copy.A" = ['fail(wrong answer)'], "Copy.B" = ['fail(wrong answer)']}},
      {run = 2, cases = {"Copy.A" = ["pass"]}, set = {"/run_id" = "20260130T120000Z-01d0", "/started" = "2026-01-30T12:00:00Z"}},
      {run = 2, where = {type = "run_ended"}, set = {"/finished" = "2026-01-30T12:00:09Z"}})"));
  scene().runs.pop_back();
  for (const char* report : {"old", "run"}) {
    const Ended added = proctor({"history", "add", "h.db", report});
    ASSERT_EQ(added.exit_code, 0) << added.err;
  }
  for (const auto& [option, older, name] : {std::tuple{"--baseline", "old", "run 20260130T120000Z-01d0"},
                                            std::tuple{"--history", "h.db", "the history"}}) {
    const Ended done = judge({option, older});
    EXPECT_EQ(done.exit_code, 1) << done.err;
    EXPECT_THAT(done.out, HasSubstr(std::string("failed newly, and not in ") + name + ": memory.xpu/Copy.A"));
    EXPECT_THAT(done.out, HasSubstr(std::string("failed before, in ") + name + ": memory.xpu/Copy.B"));
  }
  EXPECT_EQ(judge({"--history", "nowhere.db"}).exit_code, 2);
}

TEST_F(GateCommand, ChecksPolicyWithReferencedFiles) {
  write(good_scene());
  const Ended good = gate({"--check", "gate.toml"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("cell   B580, not on hardware"));
  EXPECT_EQ(gate({"--check", "gate.toml", "run"}).exit_code, 2) << "no run is read";
  EXPECT_EQ(gate({"--check", "gate.toml", "--json", "gate.json"}).exit_code, 2);
  fs::rename(path() / "plan.json", path() / "plans.json");
  const Ended missing = gate({"--check", "gate.toml"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("`plan` in gate.toml:4"));
  write_file(path() / "plan.json", read_file_or_empty((path() / "plans.json").string()) + " ");
  EXPECT_EQ(gate({"--check", "gate.toml"}).exit_code, 0) << "blanks are no change";
  write_file(path() / "gate.toml", scene().policy + "stack = \"xpu-roling\"\n");
  const Ended stack = gate({"--check", "gate.toml"});
  EXPECT_EQ(stack.exit_code, 2);
  EXPECT_THAT(stack.err, HasSubstr("Did you mean `xpu-rolling`?"));
}

// The gate lists a plan with fewer points as a relaxation.
TEST_F(GateCommand, ReportsReducedPlanAsRelaxation) {
  write_file(path() / "gate.toml", "[[cell]]\nsuite = \"memory\"\nbackend = \"xpu\"\nplan = \"plan.json\"\n");
  const auto planned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> argv = {"plan", "memory",   "--sim=xpu:2x1", "--filter=*Copy.HostTo*",
                                     "-o",   "plan.json"};
    argv.insert(argv.end(), more.begin(), more.end());
    const Ended done = proctor(argv);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return gate({"--check", "gate.toml"});
  };
  const Ended weak = planned({"--suite-arg", "size=smoke", "--suite-arg", "seed=7"});
  EXPECT_EQ(weak.exit_code, 0) << weak.err;
  EXPECT_THAT(weak.out, HasSubstr("weaker gate.toml:1: cell.plan = size smoke (else: size ci)"));
  EXPECT_THAT(weak.out, HasSubstr("weaker gate.toml:1: cell.plan = seed 7 (else: seed 0)"));
  EXPECT_EQ(planned({}).out.find("weaker"), std::string::npos);
}

// Text of a run must not begin a line, because the log of a CI step obeys a command there.
TEST_F(GateCommand, RunTextCannotBeginConsoleLine) {
  const std::string evil = "\n::error::PWN\r::error::PWN &#x202e; " + std::string(100'000, 'x');
  SceneRun& run = scene().run();
  Json& plan = run.plan();
  plan["run_id"] = plan["started"] = plan["subject"]["commit"]["value"] = plan["devices"][1]["name"] = evil;
  set_case(run, plan["cases"][0]["id"], {"skip(" + evil + ")"});
  for (Json& planned : plan["cases"]) planned["id"] = std::string(planned["id"]) + evil;
  for (Json& record : run.records) {
    if (record.contains("case")) record["case"] = std::string(record["case"]) + evil;
  }
  run.records.insert(
      run.records.end() - 1,
      Json::object({{"v", 2}, {"type", "warning"}, {"code", "report_not_written"}, {"text", evil}}));
  write_scene(scene(), path());
  const Ended red = judge({"--markdown", "gate.md"});
  EXPECT_EQ(red.exit_code, 1) << red.err;
  const std::string markdown = read_file_or_empty((path() / "gate.md").string());
  write_file(path() / "run/journal.jsonl", "\n" + evil);
  const Ended refused = gate({"--policy", "gate.toml", "--subject", "commit=" + evil, "run", "no" + evil});
  EXPECT_EQ(refused.exit_code, 2);
  for (const std::string& text : {red.out, markdown, refused.err}) {
    for (const char* begin : {"\n::", "\r"}) EXPECT_EQ(text.find(begin), text.npos) << text.substr(0, 2000);
    EXPECT_LT(text.size(), 300'000U);
  }
  EXPECT_THAT(red.out, HasSubstr("\\n::error::PWN"));
  EXPECT_EQ(markdown.find(" &#x202e;"), markdown.npos) << "an entity is a character that hides text";
}

// A layer that the run does not list counts as different from the lock.
TEST_F(GateCommand, ReportsLockedLayerMissingFromRun) {
  write(scene_after(R"({cell = "stack = \"xpu-rolling\""})"));
  const Ended unknown = judge();
  EXPECT_EQ(unknown.exit_code, 1) << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("libze-intel-gpu1: the lock requires"));
  EXPECT_THAT(unknown.out, HasSubstr("libze1: the lock requires"));
}

// The digest in the run's journal must be the one that the gate reads in the plan's file.
TEST_F(GateCommand, RunOfPlanFillsPlanCell) {
  write_file(path() / "it.sh", "#!/bin/sh\nexit 0\n");
  fs::permissions(path() / "it.sh", fs::perms::owner_all);
  const Ended planned =
      proctor({"plan", "-o", "plan.json", "--name", "smoke", "--env", "A=\"quoted\"\t\x01", "--", "./it.sh"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  write_file(path() / "gate.toml",
             "[[cell]]\nsuite = \"smoke\"\nbackend = \"none\"\nhardware = false\nplan = \"plan.json\"\n");
  const std::vector<std::string> run = {"run",           "--plan",    "plan.json",   "--subject",
                                        "commit=c0ffee", "--subject", "dirty=false", "--out"};
  const auto with = [&run](const std::vector<std::string>& more) {
    std::vector<std::string> words = run;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(proctor(with({"whole"})).exit_code, 0);
  const Ended whole = gate({"--policy", "gate.toml", "--subject", "commit=c0ffee", "whole"});
  EXPECT_EQ(whole.exit_code, 0) << whole.out << whole.err;
  EXPECT_EQ(proctor(with({"narrow", "--flaky", "pass:2%"})).exit_code, 0);
  const Ended other = gate({"--policy", "gate.toml", "narrow"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("the same cases with another command, limit or rule"));
}

// The runner appends the digest of each report after the end of its journal.
TEST_F(GateCommand, FailsWhenReportChangedAfterRendering) {
  run_smoke();
  const std::string journal = read_file_or_empty((path() / "out/journal.jsonl").string());
  const auto rendered = rendered_in(lines_of(journal).back());
  ASSERT_TRUE(rendered);
  EXPECT_EQ(files_changed_since(*rendered, path() / "out"), std::vector<std::string>());
  EXPECT_EQ(rendered->size(), reports_in(path() / "out").size());
  write_file(path() / "out/summary.md", "all is good\n");
  const Ended changed = gate({"--policy", "gate.toml", "out"});
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_THAT(changed.out, HasSubstr("summary.md is not what its journal renders to"));
}

// On the machine of the run, the runner's own copy reveals a journal with recomputed digests.
TEST_F(GateCommand, RejectsJournalRewrittenWithValidDigests) {
  run_smoke();
  const std::string journal = (path() / "out/journal.jsonl").string();
  JournalChain chain;
  std::string text = read_file_or_empty(journal);
  std::string anew;
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const std::string line = text.substr(begin, text.find(",\"sum\":", begin) - begin) + "}";
    anew += chain.append(
        line.find("run_ended") == line.npos ? line : line.substr(0, line.size() - 1) + ",\"more\":1}");
  }
  write_file(journal, anew);
  const Ended changed = gate({"--policy", "gate.toml", "out"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("was changed after its runner wrote it"));
}

}  // namespace
}  // namespace proctor::cli
