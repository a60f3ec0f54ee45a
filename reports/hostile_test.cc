// Journals with arbitrary bytes in every field, rendered in every format. Each file must be valid, and independent
// readers must count in it the results of the run. PROCTOR_REPORT_JOURNALS sets the number of journals; each number is
// the seed of its journal.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <random>
#include <span>

#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/testing/child.h"
#include "reports/compare/diff.h"
#include "reports/formats/formats.h"
#include "reports/formats/junit.h"
#include "reports/formats/read_by_others.h"
#include "reports/formats/text_output.h"
#include "reports/gate/gate_formats.h"
#include "reports/history/history.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using nlohmann::json;

// Texts with a special meaning in one of the formats, on a terminal or in a CI step.
const std::vector<std::string> kAwkward = {
    "]]>",       "</script>",        "<!--",         "&amp;",        "::error::x",
    "##[error]", "\xed\xa0\x80",     "\xe2\x80\xae", "\xef\xbf\xbe", "[[ATTACHMENT|/etc/passwd]]",
    "\r\n",      "\x1b[31m",         "\"}],",        "\\u0000",      "${x}",
    "../../x",   "\xf4\x90\x80\x80", "# EOF\n",      "{{",           std::string(1, '\0')};

// Generates runs with arbitrary texts and outcomes from a seed.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  ResolvedRun run() {
    std::vector<Event> events = {Event{}};
    RunPlanned plan = plan_of({});
    const int count = number(0, 12);
    for (int i = 0; i < count; ++i) add_case(fmt::format("{}{}", text(), i), plan, events);
    plan.run_id = text();
    plan.hostname = text();
    plan.stack.emplace_back(text(), text());
    plan.subject.commit.value = text();
    plan.subject.repository.value = text();
    plan.rules.strict = chance(5);
    plan.rules.min_executed = number(0, 3);
    events.front() = std::move(plan);
    if (chance(3)) events.push_back(Warning{WarningWord::in_text(text()), text()});
    if (chance(2)) events.push_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
    return resolved_of(events);
  }

 private:
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int one_in) { return number(1, one_in) == 1; }

  std::string text() {
    std::string made;
    for (int i = number(0, 3); i > 0; --i) {
      made += kAwkward[static_cast<std::size_t>(number(0, static_cast<int>(kAwkward.size()) - 1))];
      for (int bytes = number(0, 8); bytes > 0; --bytes) made += static_cast<char>(number(0, 255));
    }
    return made;
  }

  void add_case(const std::string& id, RunPlanned& plan, std::vector<Event>& events) {
    PlannedCase test = planned(id, chance(3) ? "pytest" : "proctor");
    test.suite = chance(2) ? "memory" : text();
    test.classname = text();
    test.name = text();
    plan.cases.push_back(test);
    const auto verdict = [&] {
      return Verdict{kAllOutcomes[static_cast<std::size_t>(number(0, 10))], reason_in_words(text())};
    };
    for (int attempt = 1; attempt <= number(0, 3); ++attempt) {
      events.push_back(started(id, attempt));
      if (chance(6)) continue;
      AttemptEnded end = ended(id, verdict(), attempt);
      end.failures = {{text(), text(), text(), number(-1, 9), text(), text(), text()}};
      end.measures = {{text(), 1.5, text(), 3, 0.1}};
      end.properties = {{text(), text()}};
      end.output = {text(), 100, 0, chance(2), text(), text()};
      end.evidence.file = text();
      end.evidence.lines = {text()};
      end.last_step = text();
      events.push_back(std::move(end));
    }
    if (chance(2)) events.push_back(concluded(id, verdict(), {MarkWord::in_text(text()), Mark::kFlaky}));
  }

  std::mt19937 random_;
};

std::uint32_t journals() {
  std::uint32_t count = 100;
  if (const char* typed = std::getenv("PROCTOR_REPORT_JOURNALS"))
    std::from_chars(typed, typed + std::string_view(typed).size(), count);
  return count;
}

// Renders every journal in all formats, below one directory.
class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    const auto all = parse_formats("all");
    for (std::uint32_t seed = 1; seed <= journals(); ++seed) {
      runs_.push_back({Generator(seed).run(), directory_.path() / std::to_string(seed)});
      fs::create_directories(runs_.back().place);
      ASSERT_TRUE(render(runs_.back().resolved, runs_.back().place, *all));
    }
  }
  struct Run {
    ResolvedRun resolved;
    fs::path place;
  };
  std::vector<fs::path> files(const std::string& name) const {
    std::vector<fs::path> found;
    for (const Run& run : runs_) found.push_back(run.place / name);
    return found;
  }
  std::vector<fs::path> suite_files() const {
    std::vector<fs::path> found;
    for (const Run& run : runs_) {
      for (const auto& entry : fs::directory_iterator(run.place / "junit")) found.push_back(entry.path());
    }
    return found;
  }
  static std::string complaint(const fs::path& schema, std::span<const fs::path> files) {
    std::vector<std::string> command = {"xmllint", "--noout", "--nonet", "--schema", schema.string()};
    for (const fs::path& file : files) command.push_back(file.string());
    const Ended done = run_child(command);
    std::string said;
    const std::string output = done.out + done.err;
    for (const std::string_view line : lines_of(output)) {
      if (!line.ends_with(" validates")) said += std::string(line) + "\n";
    }
    return done.exit_code == 0 ? "" : "xmllint: " + said.substr(0, 4000);
  }
  static void expect_valid(const fs::path& schema, const std::vector<fs::path>& files) {
    if (!fs::exists(schema)) return;
    // All file names together would exceed the maximum length of a command line.
    constexpr std::size_t kOfACommand = 2000;
    for (std::span<const fs::path> rest = files; !rest.empty();
         rest = rest.subspan(std::min(kOfACommand, rest.size())))
      EXPECT_EQ(complaint(schema, rest.first(std::min(kOfACommand, rest.size()))), "") << schema;
  }

  TempDir directory_;
  std::vector<Run> runs_;
};

TEST_F(Hostile, XmlIsValidUnderEverySchema) {
  expect_valid(our_schema("junit-portable.xsd"), files("junit.xml"));
  expect_valid(our_schema("junit-extended.xsd"), files("junit-extended.xml"));
  expect_valid(our_schema("junit-strict.xsd"), suite_files());
  expect_valid(published_schemas() / "junit-10.xsd", files("junit.xml"));
  expect_valid(published_schemas() / "junit-10.xsd", suite_files());
  expect_valid(published_schemas() / "surefire-test-report.xsd", suite_files());
}

// Fails if the text has a control that reverses the text direction, ends a line or begins a terminal sequence.
void expect_nothing_to_obey(const std::string& text, const std::string& name) {
  EXPECT_FALSE(text.empty()) << name;
  EXPECT_EQ(without_hidden_controls(text), text) << name;
  EXPECT_EQ(text.find('\x1b'), text.npos) << name;
}

TEST_F(Hostile, ReportFilesHaveNoControlSequences) {
  for (const Run& run : runs_) {
    for (const auto& entry : fs::recursive_directory_iterator(run.place)) {
      if (entry.is_regular_file()) expect_nothing_to_obey(read_file_or_empty(entry.path()), entry.path());
    }
  }
}

TEST_F(Hostile, ComparisonsHaveNoControlSequences) {
  for (std::size_t i = 1; i < runs_.size(); ++i) {
    const RunResults before = results_of(runs_[i - 1].resolved);
    const RunResults after = results_of(runs_[i].resolved);
    const Comparison comparison = compare(before, after);
    const Diff diff{before, after, comparison};
    expect_nothing_to_obey(diff_markdown(diff), "diff.md");
    expect_nothing_to_obey(diff_text(diff, 1000), "the console");
    expect_nothing_to_obey(text_of([&](TextOutput& output) { write_diff_json(diff, output); }), "diff.json");
  }
}

// A policy with a cell for each suite, and one cell that no suite fills, so that every rule applies to the run.
GateInputs gate_inputs(ResolvedRun run) {
  GateInputs inputs;
  inputs.policy.file = "gate.toml";
  inputs.at = "2026-01-31T13:00:00Z";
  inputs.reports.push_back({.run = std::move(run)});
  for (const SuiteSum& sum : inputs.reports.front().run.suites)
    inputs.policy.cells.push_back({.name = "of " + sum.suite, .suite = sum.suite, .backend = sum.backend});
  inputs.policy.cells.push_back({.name = "of nothing", .suite = "memory", .backend = "xpu"});
  return inputs;
}

TEST_F(Hostile, GateVerdictsHaveNoControlSequences) {
  for (Run& run : runs_) {
    const GateInputs inputs = gate_inputs(std::move(run.resolved));
    const auto verdict = judge(inputs);
    ASSERT_TRUE(verdict) << verdict.error().what;
    EXPECT_FALSE(verdict->passed());
    expect_nothing_to_obey(gate_json(inputs, *verdict), "gate.json");
    expect_nothing_to_obey(gate_markdown(inputs, *verdict), "gate.md");
    expect_nothing_to_obey(gate_statement(inputs, *verdict), "the statement");
    expect_nothing_to_obey(gate_text(*verdict), "the console");
  }
}

TEST_F(Hostile, ReportJsonIsValid) {
  for (const fs::path& file : files("report.json")) EXPECT_EQ(report_json_complaint(file, true), "") << file;
}

TEST_F(Hostile, JunitparserCountsMatchRun) {
  for (const char* name : {"junit.xml", "junit-extended.xml"}) {
    const auto found = counts("junitparser", files(name));
    if (!found) GTEST_SKIP() << "junitparser is not installed; ./dev test does it";
    ASSERT_EQ(found->size(), runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const ResolvedRun& resolved = runs_[i].resolved;
      const std::size_t problems = resolved.problems.size();
      std::map<std::string, std::size_t> expected = {
          {"tests", resolved.cases.size() + problems}, {"failures", 0}, {"errors", problems}, {"skipped", 0}};
      for (const ResolvedCase& test : resolved.cases) {
        const JunitElement element = formats_of(test).junit;
        if (element == JunitElement::kFailure) ++expected["failures"];
        if (element == JunitElement::kError) ++expected["errors"];
        if (element == JunitElement::kSkipped) ++expected["skipped"];
      }
      EXPECT_EQ((*found)[i], json(expected)) << runs_[i].place;
    }
  }
}

TEST_F(Hostile, CtrfIsValidAndCountsMatchRun) {
  for (const fs::path& schema : ctrf_schemas()) {
    const auto found = counts("ctrf", files("ctrf.json"), schema);
    if (!found) GTEST_SKIP() << "jsonschema is not installed";
    ASSERT_EQ(found->size(), runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const ResolvedRun& resolved = runs_[i].resolved;
      EXPECT_EQ((*found)[i]["tests"], resolved.cases.size() + resolved.problems.size());
      EXPECT_EQ((*found)[i]["passed"], resolved.summary[Outcome::kPass]);
    }
  }
}

TEST_F(Hostile, PagesContainNoMarkupOfRun) {
  const auto found = counts("page", files("index.html"));
  ASSERT_TRUE(found && found->size() == runs_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::map<std::string, int> expected;
    const Summary summary = runs_[i].resolved.summary;
    for (const Outcome outcome : kAllOutcomes) {
      if (summary[outcome] > 0) expected[std::string(to_string(outcome))] = summary[outcome];
    }
    EXPECT_EQ((*found)[i], json(expected)) << runs_[i].place;
  }
}

TEST_F(Hostile, OpenTelemetryReadsEveryTrace) {
  const auto found = counts("otlp", files("otlp.json"));
  if (!found) GTEST_SKIP() << "opentelemetry-proto is not installed; ./dev test does it";
  ASSERT_EQ(found->size(), runs_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::size_t spans = 1;
    for (const ResolvedCase& test : runs_[i].resolved.cases)
      spans += std::max<std::size_t>(test.attempts.size(), 1);
    EXPECT_EQ((*found)[i]["spans"], spans) << runs_[i].place;
  }
}

// Returns the rows that SQLite's own shell prints for a query, as "a|b" for each row, sorted.
std::vector<std::string> rows(const fs::path& database, const std::string& question) {
  const Ended done = run_child({"sqlite3", "-readonly", "-batch", database.string(), question});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  std::vector<std::string> found;
  for (const std::string_view line : lines_of(done.out)) found.emplace_back(line);
  std::ranges::sort(found);
  return found;
}

TEST_F(Hostile, SqliteShellCountsMatchRuns) {
  if (run_child({"sqlite3", "--version"}).exit_code != 0) GTEST_SKIP() << "sqlite3 is not installed";
  const fs::path file = directory_.path() / "history.sqlite";
  auto history = History::open(file.string(), std::chrono::seconds(20));
  ASSERT_TRUE(history) << history.error().what;
  std::map<std::string, int> outcomes;
  std::size_t measures = 0;
  const auto done = history->change([&]() -> Result<void> {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      RunResults run = results_of(runs_[i].resolved);
      run.run_id += std::to_string(i);
      run.journal_sha256 = std::to_string(i);
      if (const auto added = history->add(run); !added) return added.error();
      for (const CaseResult& result : run.cases) {
        ++outcomes[std::string(to_string(result.verdict.outcome))];
        measures += result.measures.size();
      }
    }
    return {};
  });
  ASSERT_TRUE(done) << done.error().what;
  std::vector<std::string> expected;
  for (const auto& [outcome, count] : outcomes) expected.push_back(fmt::format("{}|{}", outcome, count));
  const std::string by_outcome = "SELECT outcome, count(*) FROM outcome_of_case GROUP BY outcome";
  EXPECT_EQ(rows(file, by_outcome), expected);
  EXPECT_EQ(rows(file, "SELECT count(*) FROM run"), std::vector{std::to_string(runs_.size())});
  EXPECT_EQ(rows(file, "SELECT count(*) FROM measure"), std::vector{std::to_string(measures)});
  EXPECT_EQ(rows(file, "PRAGMA integrity_check"), std::vector<std::string>{"ok"});
  const auto whole = History::open_to_read(file.string(), std::chrono::seconds(20), History::Check::kWhole);
  EXPECT_TRUE(whole) << whole.error().what;
}

}  // namespace
}  // namespace proctor
