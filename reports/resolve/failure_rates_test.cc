#include "reports/resolve/failure_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/run_resolver.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kFirstOfTwo = "s/one";
constexpr const char* kSecondOfTwo = "s/two";

// Builds the journal of a run that repeats its cases.
class StressJournal {
 public:
  explicit StressJournal(const RunPlanned& plan) : events_{plan} {}

  // Adds an attempt in the process with this log.
  StressJournal& add(const char* id, Outcome outcome, const std::string& log, const std::string& device = "",
                     const Marks& marks = {}) {
    begin(id, log, device);
    AttemptEnded end = ended(id, {outcome, {}}, 1, repeat_);
    end.output.log = log;
    end.marks = marks;
    events_.push_back(end);
    return *this;
  }
  // Adds an attempt without an end, whose runner was killed.
  StressJournal& begin(const char* id, const std::string& log, const std::string& device = "") {
    AttemptStarted start = started(id, 1, ++repeat_);
    start.log = log;
    start.at_ms = repeat_;
    if (!device.empty()) start.devices = {device};
    events_.push_back(start);
    return *this;
  }
  ResolvedRun run() const { return resolved_of(events_); }

 private:
  std::vector<Event> events_;
  int repeat_ = 0;
};

RunPlanned stress_plan() {
  RunPlanned plan = plan_of({planned(kFirstOfTwo), planned(kSecondOfTwo)});
  plan.stress_ms = 1000;
  return plan;
}

RunPlanned claim_plan() {
  RunPlanned plan = plan_of({planned(kFirstOfTwo)});
  plan.exclusion = Exclusion{.confidence = 0.9, .rate = 0.5};  // requires 4 runs
  return plan;
}

std::string rate_parts_text(const std::vector<RatePart>& parts) {
  std::string text;
  for (const RatePart& part : parts)
    text += (text.empty() ? "" : ", ") + part.of + " " + std::to_string(part.rate.failures) + "/" +
            std::to_string(part.rate.runs);
  return text;
}

TEST(FailureRates, RequireStressRun) {
  const ResolvedRun run =
      StressJournal(plan_of({planned(kFirstOfTwo)})).add(kFirstOfTwo, Outcome::kFail, "1").run();
  EXPECT_FALSE(run.cases[0].rates);
  EXPECT_EQ(failure_rate_text(run), "");
}

TEST(FailureRates, GroupByDeviceAndOrder) {
  StressJournal journal(stress_plan());
  journal.add(kFirstOfTwo, Outcome::kPass, "1", "a").add(kSecondOfTwo, Outcome::kFail, "1", "a");
  journal.add(kFirstOfTwo, Outcome::kPass, "2", "b").add(kSecondOfTwo, Outcome::kPass, "2", "b");
  journal.add(kSecondOfTwo, Outcome::kPass, "3", "a");
  const ResolvedRun run = journal.run();
  const CaseRates& one = *run.cases[0].rates;
  const CaseRates& two = *run.cases[1].rates;
  EXPECT_EQ(two.all.runs, 3);
  EXPECT_EQ(two.all.failures, 1);
  EXPECT_EQ(two.all.interval.high, wilson_interval(1, 3).high);
  EXPECT_EQ(rate_parts_text(two.by_device), "a 1/2, b 0/1");
  EXPECT_EQ(rate_parts_text(two.by_order), "after s/one 1/2, alone 0/1");
  EXPECT_EQ(rate_parts_text(one.by_order), "first in its process 0/2");
  EXPECT_THAT(failure_rate_text(run),
              testing::AllOf(HasSubstr("  s/two: 1 of 3 runs failed: 33 %, 95 % interval 6.1 to 79 %\n"),
                             HasSubstr("    on a: 1 of 2 runs failed: 50 %"),
                             HasSubstr("    after s/one: 1 of 2 runs failed: 50 %"),
                             HasSubstr("  1 case without a failure in 2 runs\n")));
}

// The journal has the order of the attempts, also if the log is missing.
TEST(FailureRates, MissingLogKeepsOrder) {
  StressJournal journal(stress_plan());
  journal.begin(kFirstOfTwo, "1").add(kSecondOfTwo, Outcome::kFail, "1");
  ResolvedRun run = journal.run();
  forget_logs(run, [](const std::string&) { return false; });
  EXPECT_EQ(run.cases[0].attempts[0].start.log, "");
  EXPECT_EQ(rate_parts_text(run.cases[1].rates->by_order), "after s/one 1/1");
}

TEST(FailureRates, IgnoreSkippedAndSuspectAttempts) {
  StressJournal journal(stress_plan());
  journal.add(kFirstOfTwo, Outcome::kSkip, "1").add(kFirstOfTwo, Outcome::kNotrun, "2");
  journal.add(kFirstOfTwo, Outcome::kFail, "3", "a", {Mark::kDeviceSuspect});
  const ResolvedRun run = journal.run();
  const CaseRates& rates = *run.cases[0].rates;
  EXPECT_EQ(rates.all.runs, 0);
  EXPECT_EQ(to_string(rates.all), "no run passed or failed");
  EXPECT_THAT(rates.by_order, IsEmpty());
}

TEST(FailureRates, ClaimRequiresAllRunsWithoutFailure) {
  StressJournal journal(claim_plan());
  for (const char* log : {"1", "2", "3"}) journal.add(kFirstOfTwo, Outcome::kPass, log);
  EXPECT_EQ(journal.run().cases[0].rates->text,
            "undecided: a failure rate of 50 % or more, with 90 % confidence; 3 of 4 runs, and none failed");
  StressJournal failed = journal;
  const ResolvedRun excluded = journal.add(kFirstOfTwo, Outcome::kPass, "4").run();
  EXPECT_EQ(excluded.cases[0].rates->text,
            "excluded: a failure rate of 50 % or more, with 90 % confidence (4 runs)");
  // The second failure confirms the first one, and does not count.
  const ResolvedRun not_excluded =
      failed.add(kFirstOfTwo, Outcome::kFail, "4").add(kFirstOfTwo, Outcome::kFail, "5").run();
  const CaseRates& rates = *not_excluded.cases[0].rates;
  EXPECT_EQ(rates.all.runs, 4);
  EXPECT_EQ(rates.all.failures, 1);
  EXPECT_EQ(rates.all.interval.low, interval_of_first_failure(4).low);
  EXPECT_THAT(
      failure_rate_text(not_excluded),
      HasSubstr("s/one: not excluded: a failure rate of 50 % or more, with 90 % confidence; 1 of 4 runs "
                "failed: 25 %, 95 % interval 0.63 to 71 %"));
}

}  // namespace
}  // namespace proctor
