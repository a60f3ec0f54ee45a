// Tests that each invalid release is rejected by its rule, and that each rule is needed:
// without it an invalid release passes.
#include "reports/gate/gate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <stdexcept>

#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/journal/journal_chain.h"
#include "harness/testing/child.h"
#include "reports/gate/gate_formats.h"
#include "reports/gate/wrong_ways.h"
#include "reports/resolve/test_journal.h"

// The C library leaks the memory of LOCPATH each time a locale is set.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:argz_add_sep"; }

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

// A scene that is written to files and read again.
class Staged {
 public:
  explicit Staged(const GateScene& scene, bool backwards = false) {
    write_scene(scene, directory_.path());
    inputs_ = read_scene(scene, directory_.path(), backwards);
  }

  // Returns the rules that do not hold; "" if the gate passes.
  std::string refusal(const std::set<std::string>& left_out = {}) const {
    if (!inputs_) return inputs_.error().what;
    const auto verdict = judge(*inputs_, left_out);
    return verdict ? describe(*verdict) : verdict.error().what;
  }
  GateVerdict verdict() const {
    const auto verdict = inputs_ ? judge(*inputs_) : Result<GateVerdict>(inputs_.error());
    EXPECT_TRUE(verdict) << (verdict ? "" : verdict.error().what);
    return verdict ? *verdict : GateVerdict{};
  }
  const GateInputs& inputs() const { return *inputs_; }

 private:
  TempDir directory_;
  Result<GateInputs> inputs_ = GateInputs{};
};

TEST(Gate, GoodReportsAreGreen) {
  for (const GoodWay& way : good_ways()) EXPECT_EQ(Staged(way.scene).refusal(), "") << way.name;
}

// The gate compares the reports with the digests in the journal, and does not render them again
// (docs/reference/gate.md).
TEST(Gate, AcceptsReportsWithRecomputedDigests) {
  const GateScene scene = good_scene();
  const TempDir directory;
  write_scene(scene, directory.path());
  const std::filesystem::path run_dir = directory / "run";
  write_file(run_dir / "summary.md", "all is good");
  RenderedFiles files;
  for (const std::string& name : reports_in(run_dir))
    files.emplace(name, sha256_hex(read_file_or_empty((run_dir / name).string())));
  const std::string journal = read_file_or_empty((run_dir / "journal.jsonl").string());
  JournalChain chain;
  chain.add(journal);
  write_file(run_dir / "journal.jsonl", journal + chain.append(rendered_record(files)));
  const auto inputs = read_scene(scene, directory.path());
  ASSERT_TRUE(inputs);
  EXPECT_EQ(describe(*judge(*inputs)), "");
}

TEST(Gate, RejectsEachInvalidRunWithReason) {
  for (const WrongWay& way : wrong_ways()) {
    const Staged staged(way.scene);
    const std::string refusal = staged.refusal();
    for (const std::string& part : way.contains)
      EXPECT_THAT(refusal, HasSubstr(part)) << way.number << " " << way.name;
    EXPECT_NE(refusal, "") << way.number << " " << way.name;
    const bool by_rule = refusal.find(": " + way.rule + ": ") != refusal.npos;
    EXPECT_EQ(by_rule, !way.rule.empty()) << way.name << ": " << refusal;
  }
}

// Besides the list of reports, only this record may follow the end.
TEST(Gate, LateReportLossIsNotJournalChange) {
  const std::string refusal =
      Staged(
          scene_after(
              R"({add_behind = [{type = "warning", code = "report_not_written", text = "no space left"}]})"))
          .refusal();
  EXPECT_THAT(refusal, HasSubstr("report_not_written"));
  EXPECT_THAT(refusal, testing::Not(HasSubstr("follows the end")));
}

TEST(Gate, CountsCasesOfDuplicateRunOnce) {
  const GateVerdict verdict = Staged(scene_after(R"({copy_as = "again"})")).verdict();
  ASSERT_EQ(verdict.cells.size(), 1u);
  EXPECT_EQ(verdict.cells.front().executed, verdict.cells.front().planned);
  EXPECT_FALSE(verdict.passed());
  EXPECT_THAT(describe(verdict), testing::Not(HasSubstr("not in the plan")));
}

TEST(Gate, InvalidRunTableIsComplete) {
  std::set<int> numbers;
  for (const WrongWay& way : wrong_ways()) numbers.insert(way.number);
  for (int number = 1; number <= 29; ++number) EXPECT_TRUE(numbers.contains(number)) << number;
}

TEST(Gate, EachRuleRejectsSomeInvalidRun) {
  std::map<std::string, std::string> needed;  // rule -> the release that only this rule rejects
  for (const WrongWay& way : wrong_ways()) {
    if (way.rule.empty() || needed.contains(way.rule)) continue;
    const Staged staged(way.scene);
    if (!staged.refusal().empty() && staged.refusal({way.rule}).empty()) needed[way.rule] = way.name;
  }
  for (const std::string_view rule : gate_rules())
    EXPECT_TRUE(needed.contains(std::string(rule))) << "nothing passes without the rule " << rule;
}

TEST(Gate, VerdictListsEveryRule) {
  const GateVerdict verdict = Staged(good_scene()).verdict();
  std::size_t rules = verdict.rules.size();
  for (const GateCellVerdict& cell : verdict.cells) rules += cell.rules.size();
  EXPECT_EQ(rules, gate_rules().size());
  for (const GateFinding& finding : verdict.cells.front().rules) {
    EXPECT_NE(finding.limit, "") << finding.rule;
    EXPECT_NE(finding.value, "") << finding.rule;
  }
}

std::string all_formats(const GateScene& scene, bool backwards) {
  const Staged staged(scene, backwards);
  const GateVerdict verdict = staged.verdict();
  return gate_json(staged.inputs(), verdict) + gate_markdown(staged.inputs(), verdict) +
         gate_statement(staged.inputs(), verdict) + gate_text(verdict);
}

GateScene red_scene() {
  return scene_after(R"({start = "sharded"}, {run = 2, cases = {"Copy.C" = ['fail(wrong)']}})");
}

std::vector<GateScene> scenes_of_all_colours() {
  return {
      good_scene(), sharded_scene(), red_scene(),
      scene_after(R"({cell = "soak = { device_hours = 1234.5, resets = 0 }", gate = "max_age = \"2h\""})")};
}

// Sets a locale in which the C library and the streams write 1.234,5. It creates the locale,
// because few machines have one.
class CommaLocale {
 public:
  CommaLocale() {
    write_file(directory_ / "source",
               "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
    said_ = run_child({"localedef", "-c", "--no-archive", "-i", (directory_ / "source").string(), "-f",
                       "UTF-8", (directory_ / "comma").string()})
                .err;
    ::setenv("LOCPATH", directory_.path().c_str(), 1);
    try {
      std::locale::global(std::locale("comma"));
    } catch (const std::runtime_error&) {  // localedef could not create the locale
    }
  }
  ~CommaLocale() {
    std::locale::global(std::locale::classic());
    ::unsetenv("LOCPATH");
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool is_there() const { return std::locale().name() == "comma"; }
  const std::string& said() const { return said_; }

 private:
  TempDir directory_;
  std::string said_;
};

// Each Staged has its own directory, so this also proves that no path of this machine is in a verdict.
TEST(Gate, OutputIsIndependentOfLocaleAndDirectory) {
  for (const GateScene& scene : scenes_of_all_colours()) {
    const std::string once = all_formats(scene, false);
    ::setenv("TZ", "Asia/Kolkata", 1);
    ::tzset();
    EXPECT_EQ(all_formats(scene, true), once);
    ::unsetenv("TZ");
    ::tzset();
    const CommaLocale locale;
    if (!locale.is_there()) GTEST_SKIP() << "localedef makes no locale here: " << locale.said();
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%.1f", 1.5);
    ASSERT_STREQ(text.data(), "1,5");
    EXPECT_EQ(all_formats(scene, false), once);
  }
}

TEST(Gate, VerdictMatchesSchema) {
  const TempDir directory;
  for (const GateScene& scene : {good_scene(), red_scene()}) {
    const Staged staged(scene);
    const std::string text = gate_json(staged.inputs(), staged.verdict());
    write_file(directory / "gate.json", text);
    EXPECT_EQ(
        complaint_of({"/usr/bin/python3", "-B", "-c",
                      "import json, sys, jsonschema; jsonschema.Draft7Validator(json.load(open(sys.argv[1])))"
                      ".validate(json.load(open(sys.argv[2])))",
                      our_schema("gate.schema.json").string(), (directory / "gate.json").string()}),
        "");
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["policy"]["relaxations"][0]["key"], "gate.hardware");
    EXPECT_EQ(json["cells"][0]["rules"].size(), gate_rules().size() - 4);
  }
}

TEST(Gate, StatementHasJournalAndPolicyDigests) {
  const Staged staged(good_scene());
  const auto statement = nlohmann::json::parse(gate_statement(staged.inputs(), staged.verdict()));
  EXPECT_EQ(statement["_type"], "https://in-toto.io/Statement/v1");
  EXPECT_EQ(statement["subject"][0]["digest"]["gitCommit"], "c0ffee");
  EXPECT_EQ(statement["subject"][1]["digest"]["sha256"], staged.inputs().reports.front().sha256);
  EXPECT_EQ(statement["predicate"]["result"], "PASSED");
  EXPECT_EQ(statement["predicate"]["configuration"][0]["digest"]["sha256"], staged.inputs().policy.sha256);
}

TEST(Gate, AllowedVariableIsListedAsRelaxation) {
  const Staged allowed(scene_after(
      R"({gate = "variables = [\"LD_LIBRARY_PATH\"]", set = {"/restrictions/variables/-" = {suite = "memory", backend = "xpu", name = "LD_LIBRARY_PATH", value = "/opt/lib", by = "caller"}}})"));
  EXPECT_EQ(allowed.refusal(), "");
  EXPECT_EQ(allowed.inputs().policy.relaxations.back().key, "gate.variables");
}

// On the machine of the run, the journal is compared with the runner's own copy of its digest.
TEST(Gate, RejectsJournalThatDiffersFromSeal) {
  const TempDir directory;
  write_scene(good_scene(), directory.path());
  const std::filesystem::path run_dir = directory.path() / "run";
  JournalChain chain;
  chain.add(read_file_or_empty((run_dir / "journal.jsonl").string()));
  const std::string run_id = good_scene().run().plan()["run_id"];
  const auto why_not = [&](const JournalSeal& seal) {
    const auto report = read_gate_report(run_dir, "run", seal);
    return report ? "" : report.error().what;
  };
  EXPECT_EQ(why_not({chain.state(), chain.state(), run_id}), "");
  EXPECT_THAT(
      why_not({chain.state(), chain.state(), "20260130T120000Z-abcdef"}),
      HasSubstr("it belongs to run " + run_id + ", but the last run in this directory was 20260130T120000Z"));
  chain.append("{}");
  EXPECT_THAT(why_not({chain.state(), chain.state(), run_id}),
              HasSubstr("it was changed after its runner wrote it"));
}

// A journal that grows when a file is opened. The lease of the file (fcntl(2)) raises a signal in the thread that opens
// it, before the call returns.
struct GrowingJournal {
  UniqueFd journal{};
  UniqueFd leased{};
  std::string record{};
};
GrowingJournal* growing = nullptr;

void grow(int /*signal*/) {
  const auto& [journal, leased, record] = *growing;
  static_cast<void>(::write(journal.get(), record.data(), record.size()));
  ::fcntl(leased.get(), F_SETLEASE, F_UNLCK);
}

// If the journal has no digest of a report, the gate renders the report again, which reads the journal a second time.
TEST(Gate, RejectsJournalThatGrowsWhileRead) {
  GateScene scene = good_scene();
  scene.run().lists_rendered = true;
  const TempDir directory("/dev/shm");
  write_scene(scene, directory.path());
  const std::filesystem::path run_dir = directory / "run";
  write_file(run_dir / "summary.md", "all is good");
  JournalChain chain;
  chain.add(read_file_or_empty((run_dir / "journal.jsonl").string()));
  GrowingJournal file{UniqueFd(::open((run_dir / "journal.jsonl").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)),
                      UniqueFd(::open((run_dir / "summary.md").c_str(), O_RDONLY | O_CLOEXEC)),
                      chain.append(to_json_line(Warning{WarningCode::kReportNotWritten, "no space left"}))};
  growing = &file;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = grow;
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGIO, &action, &before), 0);
  ASSERT_EQ(::fcntl(file.leased.get(), F_SETLEASE, F_WRLCK), 0);
  const struct f_owner_ex here { .type = F_OWNER_TID, .pid = ::gettid() };
  ASSERT_EQ(::fcntl(file.leased.get(), F_SETOWN_EX, &here), 0);
  const auto grown = read_gate_report(run_dir, "run");
  ::sigaction(SIGIO, &before, nullptr);
  growing = nullptr;
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().what, "read run/journal.jsonl: it changed while it was read");
  EXPECT_TRUE(read_gate_report(run_dir, "run")) << "the longer journal is a good one";
}

// A journal that is cut at any byte must be rejected.
TEST(Gate, TruncatedJournalIsNeverGreen) {
  const GateScene scene = good_scene();
  const TempDir directory;
  write_scene(scene, directory.path());
  const std::string whole = read_file_or_empty((directory / "run/journal.jsonl").string());
  ASSERT_GT(whole.size(), 1000u);
  for (const auto& entry : std::filesystem::directory_iterator(directory / "run")) {
    if (entry.path().filename() != "journal.jsonl") std::filesystem::remove_all(entry.path());
  }
  for (std::size_t bytes = 0; bytes < whole.size();
       bytes += whole[bytes] == '\n' ? 1 : std::min<std::size_t>(17, whole.find('\n', bytes) - bytes)) {
    write_file(directory / "run/journal.jsonl", whole.substr(0, bytes));
    const auto inputs = read_scene(scene, directory.path());
    if (!inputs) continue;
    const auto verdict = judge(*inputs);
    ASSERT_TRUE(verdict && !verdict->passed()) << bytes;
  }
}

}  // namespace
}  // namespace proctor
