// Tests that all outputs of a run have the same sums: 200 random runs, each in all its outputs.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <regex>

#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/cli/console/console.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/render.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;

constexpr int kRuns = 200;
constexpr std::string_view kFirst = "xpu:0000:03:00.0";
constexpr std::string_view kSecond = "xpu:0000:4d:00.0";

using GateSums = std::map<std::string, int>;  // by rule; "planned" is one, too

// The sums of one output. None: the output lacks the value.
struct Sums {
  std::map<std::string, int> outcomes{};  // without zeros
  std::map<std::string, int> tallies{};   // "passed", "not run": without zeros
  std::optional<int> planned{};
  std::optional<int> failed{};  // cases
  std::optional<int> flaky{};   // cases
  std::optional<int> causes{};  // causes of the failed cases
  std::optional<int> exit_code{};
  GateSums gate{};
};

// ---- random runs ----

class RandomRun {
 public:
  explicit RandomRun(unsigned seed) : random_(seed) {
    RunPlanned plan = plan_of({});
    plan.run_id = fmt::format("20260131T120000Z-{:06x}", seed);
    plan.devices = {{std::string(kFirst), "xpu", "Card", false},
                    {std::string(kSecond), "xpu", "Card", false}};
    plan.flaky_passes = dice(2) == 0;
    plan.max_flaky_percent = 5;
    plan.rules.each_device = dice(8) == 0;
    events = {plan};
    const std::size_t cases = 1 + dice(40);
    const std::size_t stops_at = dice(4) == 0 ? dice(cases) : cases;
    std::vector<PlannedCase> all;
    for (std::size_t i = 0; i < cases; ++i) {
      PlannedCase test = planned(fmt::format("s{}/case{}", dice(3), i), dice(3) == 0 ? "pytest" : "proctor");
      test.suite = test.id.substr(0, 2);
      test.backend = dice(2) == 0 ? "none" : "xpu";
      test.name = test.id;
      all.push_back(test);
      if (i < stops_at) {
        add_case(test);
      } else {
        count({Outcome::kNotrun, ""}, test.kind, {});
      }
    }
    std::get<RunPlanned>(events.front()).cases = all;
    if (stops_at < cases) events.push_back(StopRequested{.signal = 0, .reason = StopCause::kFailFast});
    if (dice(5) == 0) events.push_back(Warning{WarningCode::kReportNotWritten, "a report is lost"});
    if (dice(6) > 0) events.push_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
    expected.planned = static_cast<int>(cases);
  }

  std::vector<Event> events{};
  Sums expected{.failed = 0,
                .flaky = 0,
                .gate = {{"planned", 0},
                         {"executed", 0},
                         {"failed", 0},
                         {"machine", 0},
                         {"notrun", 0},
                         {"skips", 0},
                         {"flaky", 0},
                         {"expected", 0},
                         {"unexpected_pass", 0}}};

 private:
  static std::string tally_of(const Verdict& verdict, const std::string& kind, const Marks& marks) {
    const Outcome outcome = verdict.outcome;
    if (outcome == Outcome::kPass) return has_mark(marks, Mark::kFlaky) ? "flaky" : "passed";
    if (outcome == Outcome::kNotrun) return "not run";
    if (outcome == Outcome::kSkip) return "skipped";
    return is_bad(outcome, kind) ? "failed" : "known";
  }

  std::size_t dice(std::size_t sides) { return random_() % sides; }

  void count(const Verdict& verdict, const std::string& kind, const Marks& marks) {
    const Outcome outcome = verdict.outcome;
    ++expected.outcomes[std::string(to_string(outcome))];
    ++expected.tallies[tally_of(verdict, kind, marks)];
    const bool failed = is_bad(outcome, kind) && outcome != Outcome::kNotrun;
    if (failed) ++*expected.failed;
    // The gate counts machine failures as not run, also if the case passed on another device.
    const bool by_machine = outcome == Outcome::kDeviceLost || verdict.reason == Reason::kGuardLost ||
                            verdict.reason == Reason::kStarved;
    const bool moved = has_mark(marks, Mark::kDeviceSuspect);
    GateSums& gate = expected.gate;
    ++gate["planned"];
    gate["executed"] += outcome != Outcome::kSkip && outcome != Outcome::kNotrun && !by_machine;
    gate["failed"] += failed && !by_machine && outcome != Outcome::kXpass;
    gate["machine"] += by_machine || moved;
    gate["notrun"] += outcome == Outcome::kNotrun;
    gate["skips"] += outcome == Outcome::kSkip;
    gate["flaky"] += has_mark(marks, Mark::kFlaky) && !moved;
    gate["expected"] += outcome == Outcome::kXfail;
    gate["unexpected_pass"] += outcome == Outcome::kXpass;
  }

  void attempt(const PlannedCase& test, const Verdict& verdict, int number, std::string_view device) {
    AttemptStarted start = started(test.id, number);
    start.log.clear();
    start.devices = {std::string(device)};
    AttemptEnded end = ended(test.id, verdict, number);
    end.output = {};
    if (is_bad(verdict.outcome) && dice(2) == 0)
      end.failures = {
          {"", fmt::format("message {}", dice(3)), "a.cc", static_cast<int>(1 + dice(3)), "", "", ""}};
    events.insert(events.end(), {start, end});
  }

  void add_case(const PlannedCase& test) {
    static const std::vector<Verdict> kVerdicts = {{Outcome::kPass, ""},
                                                   {Outcome::kPass, ""},
                                                   {Outcome::kFail, ""},
                                                   {Outcome::kError, Reason::kNoResult},
                                                   {Outcome::kError, Reason::kGuardLost},
                                                   {Outcome::kTimeout, ""},
                                                   {Outcome::kStall, Reason::kStarved},
                                                   {Outcome::kCrash, {Reason::kSignal, 11}},
                                                   {Outcome::kDeviceLost, ""},
                                                   {Outcome::kSkip, Reason::kDisabled},
                                                   {Outcome::kXfail, ""},
                                                   {Outcome::kXpass, ""},
                                                   {Outcome::kNotrun, Reason::kRunLimit}};
    const Verdict pass{Outcome::kPass, ""};
    const Verdict fail{Outcome::kFail, ""};
    Verdict verdict = kVerdicts[dice(kVerdicts.size())];
    Marks marks;
    switch (dice(6)) {
      case 0:  // flaky
        marks = {Mark::kFlaky};
        ++*expected.flaky;
        break;
      case 1:  // failed on one device and passed on another one
        marks = {Mark::kDeviceSuspect};
        if (dice(3) == 0) {
          marks.emplace_back(Mark::kFlaky);
          ++*expected.flaky;
        }
        break;
      case 2:  // retried with the same outcome
        attempt(test, verdict, 1, kFirst);
        attempt(test, verdict, 2, dice(2) == 0 ? kFirst : kSecond);
        break;
      default:
        if (verdict.outcome != Outcome::kNotrun) attempt(test, verdict, 1, kFirst);
    }
    if (!marks.empty()) {
      verdict = pass;
      attempt(test, fail, 1, kFirst);
      attempt(test, pass, 2, marks.front() == Mark::kFlaky ? kFirst : kSecond);
    }
    count(verdict, test.kind, marks);
    events.push_back(concluded(test.id, verdict, marks));
  }

  std::mt19937 random_;
};

// ---- The sums of each output ----

int number_in(const std::string& text) {
  std::string digits = text;
  std::erase(digits, ',');
  return std::stoi(digits);
}

// Returns the number in the first match; none without a match.
std::optional<int> found_in(const std::string& text, const std::string& pattern) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return std::nullopt;
  return number_in(found.str(1));
}

// Parses the sentences that console and summary share.
Sums of_sentences(const std::string& text) {
  Sums sums{.planned = found_in(text, R"(([\d,]+) planned: )"),
            .failed = found_in(text, R"(([\d,]+) of [\d,]+ cases? failed, with)").value_or(0),
            .flaky = found_in(text, R"(([\d,]+) cases? (?:was|were) flaky: )").value_or(0),
            .causes = found_in(text, R"(failed, with ([\d,]+) cause)").value_or(0)};
  std::smatch list;
  std::regex_search(text, list, std::regex(R"([\d,]+ planned: (.*))"));
  const std::string outcomes = list.str(1);
  const std::regex each(R"(([\d,]+) (passed|failed|flaky|known|skipped|not run))");
  for (std::sregex_iterator at(outcomes.begin(), outcomes.end(), each); at != std::sregex_iterator(); ++at)
    sums.tallies[at->str(2)] = number_in(at->str(1));
  return sums;
}

Sums of_summary(const std::string& text) {
  Sums sums = of_sentences(text);
  sums.exit_code = found_in(text, R"(\(exit code (\d+)\))");
  return sums;
}

Sums of_console(const std::vector<Event>& events, const ResolvedRun& run, const TempDir& directory) {
  const std::string file = directory / "console.txt";
  const int fd = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  {
    cli::ConsoleOutput output(fd);
    cli::Console console(output, {}, "out", {}, true);
    for (const Event& event : events) console.on(event);
    console.finish(run, run.shell_exit_code, {});
  }
  ::close(fd);
  const std::string text = read_file_or_empty(file);
  Sums sums = of_sentences(text);
  sums.flaky = found_in(text, R"(\nflaky: ([\d,]+) of)").value_or(0);
  sums.exit_code = found_in(text, R"(\nexit (\d+) \()");
  if (run.verdict != RunVerdict::kFailed)
    sums.failed = sums.causes = std::nullopt;  // other verdicts have another sentence
  return sums;
}

Sums of_page(const std::string& text) {
  Sums sums{.planned = found_in(text, R"(>Cases <strong>(\d+)</strong>)"),
            .exit_code = found_in(text, R"(Exit code <strong>(\d+)</strong>)")};
  const std::regex each(R"(<strong>(\d+)</strong> ([a-z ]+)</span>)");
  for (std::sregex_iterator at(text.begin(), text.end(), each); at != std::sregex_iterator(); ++at)
    sums.tallies[at->str(2)] = number_in(at->str(1));
  return sums;
}

void set_outcomes(const json& counts, Sums& sums) {
  sums.planned = counts["planned"].get<int>();
  for (const Outcome outcome : kAllOutcomes) {
    const std::string name(to_string(outcome));
    if (const int count = counts.value(name, 0); count > 0) sums.outcomes[name] = count;
  }
}

Sums of_report_json(const std::string& text) {
  const json report = json::parse(text);
  Sums sums{.exit_code = report["run"]["exit_code"].get<int>()};
  set_outcomes(report["summary"], sums);
  std::map<std::string, int> again;
  for (const json& test : report["cases"]) ++again[test["outcome"].get<std::string>()];
  EXPECT_EQ(again, sums.outcomes);
  return sums;
}

Sums of_ctrf(const std::string& text, int problems) {
  const json results = json::parse(text)["results"];
  const json& summary = results["summary"];
  Sums sums{.failed = summary["failed"].get<int>() - problems,
            .flaky = summary["flaky"].get<int>(),
            .exit_code = results["environment"]["extra"]["proctor"]["exit_code"].get<int>()};
  set_outcomes(summary["extra"]["proctor"], sums);
  EXPECT_EQ(summary["tests"].get<int>(), *sums.planned + problems);
  EXPECT_EQ(results["tests"].size(), static_cast<std::size_t>(*sums.planned + problems));
  return sums;
}

Sums of_metrics(const std::string& text) {
  Sums sums{.planned = 0, .flaky = 0, .exit_code = found_in(text, R"(\nproctor_exit_code (\d+))")};
  const std::regex cases(R"re(\nproctor_cases\{.*outcome="([a-z_]+)"\} (\d+))re");
  for (std::sregex_iterator at(text.begin(), text.end(), cases); at != std::sregex_iterator(); ++at) {
    const int count = number_in(at->str(2));
    *sums.planned += count;
    if (count > 0) sums.outcomes[at->str(1)] += count;
  }
  const std::regex flaky(R"(\nproctor_cases_flaky\{.*\} (\d+))");
  for (std::sregex_iterator at(text.begin(), text.end(), flaky); at != std::sregex_iterator(); ++at)
    *sums.flaky += number_in(at->str(1));
  return sums;
}

// JUnit has other classes, so they are compared with the classes of the outcomes in JUnit.
void compare_junit(const std::string& text, const Sums& expected, int problems) {
  const auto sum = [&](std::initializer_list<const char*> outcomes) {
    int all = 0;
    for (const char* outcome : outcomes) {
      const auto found = expected.outcomes.find(outcome);
      all += found == expected.outcomes.end() ? 0 : found->second;
    }
    return all;
  };
  const int not_run = sum({"notrun"});
  EXPECT_EQ(found_in(text, R"re(<testsuites .*tests="(\d+)")re"), *expected.planned + problems);
  const int failures = found_in(text, R"re(<testsuites .*failures="(\d+)")re").value_or(-1);
  const int errors = found_in(text, R"re(<testsuites .*errors="(\d+)")re").value_or(-1);
  EXPECT_EQ(failures + errors, *expected.failed + not_run + problems);
  EXPECT_EQ(errors, sum({"error", "timeout", "stall", "crash", "device_lost"}) + not_run + problems);
  const auto count = [&](const std::string& element) {
    const std::regex each("<" + element + "[ />]");
    return std::distance(std::sregex_iterator(text.begin(), text.end(), each), std::sregex_iterator());
  };
  EXPECT_EQ(count("testcase"), *expected.planned + problems);
  EXPECT_EQ(count("failure") + count("error"), failures + errors);
  EXPECT_EQ(count("failure") + count("error") + count("skipped") + sum({"pass"}),
            *expected.planned + problems);
}

// Runs the gate with a policy that has all suites, and returns its counts.
Sums of_gate(const TempDir& directory, const GateSums& expected) {
  std::string policy;
  for (const char* suite : {"s0", "s1", "s2"}) {
    for (const char* backend : {"none", "xpu"})
      policy += fmt::format("[[cell]]\nsuite = \"{}\"\nbackend = \"{}\"\nhardware = false\n", suite, backend);
  }
  const TempDir place("/dev/shm");  // in memory: the gate writes nothing to a run directory
  write_file(place / "policy.toml", policy);
  const std::string command = fmt::format(
      "{0}/proctor gate --policy {1}/policy.toml --as-of 2026-02-01T00:00:00Z --json {1}/gate.json {2} "
      ">{1}/gate.txt 2>&1",
      PROCTOR_BIN_DIR, place.string(), directory.string());
  EXPECT_NE(std::system(command.c_str()), -1);
  const json gate = json::parse(read_file_or_empty(place / "gate.json"));
  Sums sums{.planned = 0};
  std::vector<std::string> lines;
  int failed = 0;
  for (const json& cell : gate["cells"]) {
    const int executed = cell["executed"].get<int>();
    const int planned = cell["planned"].get<int>();
    *sums.planned += planned;
    sums.gate["planned"] += planned;
    failed += cell["verdict"] == "failed" ? 1 : 0;
    for (const json& rule : cell["rules"]) {
      const std::string name = rule["rule"];
      const std::string value = rule["value"];
      if (name == "executed" || name == "flaky") {
        EXPECT_EQ(found_in(value, R"(^[\d,]+ of ([\d,]+))"), name == "flaky" ? executed : planned) << name;
      }
      if (expected.contains(name)) sums.gate[name] += found_in(value, R"(^([\d,]+) )").value_or(-1000);
    }
    lines.push_back(
        fmt::format("{}: {} of {} executed\n", cell["name"].get<std::string>(), executed, planned));
  }
  const std::string said = read_file_or_empty(place / "gate.txt");
  std::size_t at = 0;
  for (const std::string& line : lines) {
    at = said.find(line, at);
    EXPECT_NE(at, said.npos) << line << " is not in:\n" << said;
    if (at == said.npos) break;
  }
  EXPECT_EQ(found_in(said, R"(\ngate FAILED: ([\d,]+) of 6 cells\n)").value_or(0), failed);
  return sums;
}

void expect_same(const Sums& said, const Sums& expected, const char* output) {
  SCOPED_TRACE(output);
  const auto expect = [](const auto& value, const auto& wanted, const char* what) {
    if (value) {
      EXPECT_EQ(*value, *wanted) << what;
    }
  };
  if (!said.outcomes.empty()) {
    EXPECT_EQ(said.outcomes, expected.outcomes);
  }
  EXPECT_TRUE(said.planned);
  EXPECT_TRUE(said.exit_code || output == std::string_view("gate"));
  if (!said.tallies.empty()) {
    EXPECT_EQ(said.tallies, expected.tallies);
  }
  EXPECT_TRUE(!said.outcomes.empty() || !said.tallies.empty() || output == std::string_view("gate"));
  expect(said.planned, expected.planned, "planned");
  expect(said.failed, expected.failed, "failed");
  expect(said.flaky, expected.flaky, "flaky");
  expect(said.causes, expected.causes, "causes");
  expect(said.exit_code, expected.exit_code, "exit code");
  if (output == std::string_view("gate")) {
    EXPECT_EQ(said.gate, expected.gate);
  }
}

TEST(Sums, AreTheSameInEachOutput) {
  for (unsigned seed = 0; seed < kRuns && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const RandomRun random(seed);
    const ResolvedRun run = resolved_of(random.events);
    const TempDir directory("/dev/shm");
    write_file(directory / "journal.jsonl", journal_text(random.events));
    const auto formats = parse_formats("all");
    ASSERT_TRUE(formats && render(run, directory.path(), *formats));
    const auto text = [&](std::string_view name) { return read_file_or_empty(directory / name); };
    const int problems = found_in(text("metrics.prom"), R"(\nproctor_run_problems (\d+))").value_or(-1);
    Sums expected = random.expected;
    expected.exit_code = run.shell_exit_code;
    expected.causes = static_cast<int>(run.failures.causes);
    expect_same(of_summary(text("summary.md")), expected, "summary.md");
    expect_same(of_console(random.events, run, directory), expected, "console");
    expect_same(of_page(text("index.html")), expected, "index.html");
    expect_same(of_report_json(text("report.json")), expected, "report.json");
    expect_same(of_ctrf(text("ctrf.json"), problems), expected, "ctrf.json");
    expect_same(of_metrics(text("metrics.prom")), expected, "metrics.prom");
    expect_same(of_gate(directory, expected.gate), expected, "gate");
    compare_junit(text("junit.xml"), expected, problems);
    EXPECT_EQ(found_in(text("index.html"), R"(>Causes <strong>(\d+)</strong>)").value_or(0),
              static_cast<int>(run.causes.size()));
  }
}

}  // namespace
}  // namespace proctor
