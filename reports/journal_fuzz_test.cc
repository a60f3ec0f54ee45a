// Simulates a runner that is killed at any byte of its journal. The remaining journal must render, with one outcome for
// each planned case.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "harness/base/json.h"
#include "reports/formats/formats.h"
#include "reports/formats/junit.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

// Returns a run as the runner records it: `slots` cases at once, retries, random outcomes.
std::vector<Event> random_journal(std::mt19937& random, int slots) {
  const auto dice = [&random](std::size_t sides) { return random() % sides; };
  struct Running {
    std::string id;
    int attempt = 1;
  };
  std::vector<PlannedCase> cases;
  for (std::size_t i = 0, n = 1 + dice(12); i < n; ++i)
    cases.push_back(planned("memory.xpu/C." + std::to_string(i)));
  std::vector<Event> events = {plan_of(cases)};
  std::vector<Running> running;
  std::size_t next = 0;
  while (next < cases.size() || !running.empty()) {
    if (next < cases.size() && running.size() < static_cast<std::size_t>(slots)) {
      running.push_back({cases[next++].id});
      events.push_back(started(running.back().id));
      continue;
    }
    Running& one = running[dice(running.size())];
    const Verdict verdict{kAllOutcomes[dice(kAllOutcomes.size())],
                          reason_in_words(dice(2) ? awkward_text() : "r")};
    AttemptEnded end = ended(one.id, verdict, one.attempt);
    end.output.stdout_tail = awkward_text();
    events.push_back(end);
    if (is_bad(verdict.outcome) && one.attempt < 3 && dice(2)) {
      events.push_back(started(one.id, ++one.attempt));
      continue;
    }
    events.push_back(concluded(one.id, verdict));
    running.erase(running.begin() + (&one - running.data()));
  }
  events.push_back(RunEnded{"2026-01-31T12:00:09Z", 9000});
  return events;
}

TEST(JournalFuzz, TruncatedJournalKeepsEndedCases) {
  constexpr int kSlots = 3;
  std::mt19937 random(20260822);
  TempDir dir;
  const auto path = dir.path() / "journal.jsonl";
  for (int round = 0; round < 300; ++round) {
    const auto events = random_journal(random, kSlots);
    const std::string whole = journal_text(events);
    const std::size_t plan_bytes = whole.find('\n');
    const std::size_t size = plan_bytes + random() % (whole.size() - plan_bytes + 1);
    write_file(path, whole.substr(0, size));

    std::map<std::string, Verdict> concluded_before;
    std::size_t at = 0;
    for (const Event& event : events) {
      at = whole.find('\n', at);
      if (at > size) break;
      ++at;  // the newline: a last line without it is complete, too
      if (const auto* end = std::get_if<CaseEnded>(&event)) concluded_before[end->case_id] = end->verdict;
    }

    const auto run = load_journal(path);
    ASSERT_TRUE(run) << run.error().what;
    EXPECT_TRUE(run->warnings.empty());
    const Summary summary = run->summary;
    ASSERT_EQ(summary.planned(), static_cast<int>(std::get<RunPlanned>(events[0]).cases.size()));
    int cut_short = 0;
    for (const ResolvedCase& test : run->cases) {
      const Verdict verdict = test.verdict;
      if (const auto known = concluded_before.find(test.planned.id); known != concluded_before.end()) {
        ASSERT_EQ(verdict.outcome, known->second.outcome) << test.planned.id;
      } else if (!test.attempts.empty() && verdict == Verdict{Outcome::kNotrun, Reason::kInterrupted}) {
        ++cut_short;
      }
    }
    EXPECT_LE(cut_short, kSlots);
    ASSERT_TRUE(render(*run, dir.path()));
    const auto report = nlohmann::json::parse(read_file_or_empty(dir.path() / "report.json"));
    EXPECT_EQ(report["run"]["exit_code"], run->exit_code);
    if (round % 20 == 0) {  // the schema validators start slowly
      EXPECT_EQ(report_json_complaint(dir.path() / "report.json", true), "");
      EXPECT_EQ(xml_complaint(our_schema("junit-portable.xsd"), dir.path() / "junit.xml"), "");
      EXPECT_EQ(xml_complaint(our_schema("junit-strict.xsd"), dir.path() / "junit/memory.xpu.xml"), "");
    }
  }
}

TEST(JournalFuzz, DamagedJournalRendersOrIsRefused) {
  std::mt19937 random(7);
  TempDir dir;
  const auto path = dir.path() / "journal.jsonl";
  for (int round = 0; round < 300; ++round) {
    std::string text = journal_text(random_journal(random, 3));
    for (std::size_t n = 1 + random() % 20; n > 0; --n) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    write_file(path, text);
    const auto run = load_journal(path);
    if (!run) continue;  // the cut removed the plan
    EXPECT_EQ(run->summary.planned(), static_cast<int>(run->cases.size()));
    EXPECT_NO_THROW({
      (void)junit_run(*run);
      (void)junit_suites(*run);
      (void)report_json(*run);
      (void)summary_markdown(*run);
    });
  }
}

}  // namespace
}  // namespace proctor
