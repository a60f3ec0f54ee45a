#include "reports/resolve/run_resolver.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/resolve/failure_text.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Verdict kPass{Outcome::kPass, ""};
const Verdict kFail{Outcome::kFail, {Reason::kExit, 1}};
const Verdict kInterrupted{Outcome::kNotrun, Reason::kInterrupted};

// Returns the verdict of the single case "s/a", planned `repeat` times, after `events`.
Verdict verdict_after(std::vector<Event> events, int repeat = 1, bool strict = false) {
  PlannedCase one = planned("s/a");
  one.repeat = repeat;
  RunPlanned plan = plan_of({one});
  plan.rules.strict = strict;
  events.insert(events.begin(), plan);
  const ResolvedRun run = resolved_of(events);
  return run.cases.at(0).verdict;
}

// Another case ended the process of this attempt.
TEST(ResolvedRun, UnprovenAttemptDoesNotCount) {
  AttemptEnded none = ended("s/a", {Outcome::kError, Reason::kNoResult});
  none.marks = {Mark::kUnconfirmed};
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), started("s/a"), none, started("s/a", 2),
                                       ended("s/a", kPass, 2), concluded("s/a", kPass)});
  const ResolvedCase& test = run.cases[0];
  EXPECT_TRUE(is_unproven(test.attempts[0]));
  EXPECT_FALSE(counts(test.attempts[0]));
  EXPECT_EQ(attempt_count(test), 1);
  EXPECT_FALSE(test.flaky);
  EXPECT_EQ(first_bad_attempt(test), nullptr);
}

TEST(ResolvedRun, ResolvesEveryKindOfEnd) {
  EXPECT_EQ(verdict_after({}), kInterrupted);
  EXPECT_EQ(verdict_after({started("s/a")}), kInterrupted);
  EXPECT_EQ(verdict_after({started("s/a"), ended("s/a", kFail)}), kFail);
  EXPECT_EQ(verdict_after({started("s/a"), ended("s/a", kFail),
                           concluded("s/a", {Outcome::kXfail, reason_in_words("known")})}),
            (Verdict{Outcome::kXfail, reason_in_words("known")}));
  EXPECT_EQ(verdict_after({concluded("s/a", {Outcome::kNotrun, Reason::kRunLimit})}),
            (Verdict{Outcome::kNotrun, Reason::kRunLimit}));
}

TEST(ResolvedRun, InterruptedRetryLeavesCaseInterrupted) {
  EXPECT_EQ(verdict_after({started("s/a", 1), ended("s/a", kFail, 1), started("s/a", 2)}), kInterrupted);
  EXPECT_EQ(
      verdict_after({started("s/a", 1), ended("s/a", kFail, 1), started("s/a", 2), ended("s/a", kPass, 2)}),
      kPass);
}

TEST(ResolvedRun, InterruptedRepeatKeepsEarlierFailure) {
  const auto first = [](Verdict verdict) {
    return std::vector<Event>{started("s/a", 1, 1), ended("s/a", std::move(verdict), 1, 1)};
  };
  EXPECT_EQ(verdict_after(first(kPass), 2), kInterrupted);  // one of two repeats
  EXPECT_EQ(verdict_after(first(kFail), 2), kFail);
  auto events = first(kFail);
  events.push_back(started("s/a", 1, 2));
  EXPECT_EQ(verdict_after(events, 2), kFail) << "the first repeat was decided before the second one started";
  events = first(kPass);
  events.push_back(started("s/a", 1, 2));
  EXPECT_EQ(verdict_after(events, 2), kInterrupted);
  events.push_back(ended("s/a", kPass, 1, 2));
  EXPECT_EQ(verdict_after(events, 2), kPass);
}

TEST(ResolvedRun, UnstartedCaseHasReasonOfStop) {
  const auto why = [](int signal, const StopWord& cause) {
    return verdict_after({StopRequested{signal, cause, 1}}).reason.text();
  };
  EXPECT_EQ(why(15, StopCause::kSignal), "interrupted");
  EXPECT_EQ(why(15, StopCause::kParentDied), "interrupted");
  EXPECT_EQ(why(0, StopCause::kDeadline), "run_limit");
  EXPECT_EQ(why(0, StopCause::kFailFast), "fail_fast");
  EXPECT_EQ(why(0, StopCause::kMachineFailures), "machine_failures");
  EXPECT_EQ(why(0, StopCause::kJournal), "run_limit");
  EXPECT_EQ(why(0, StopWord()), "interrupted");
  EXPECT_EQ(why(0, StopWord::in_text("of_a_later_version")), "of_a_later_version");
  EXPECT_EQ(
      verdict_after({StopRequested{0, StopCause::kDeadline, 1}, StopRequested{2, StopCause::kSignal, 2}})
          .reason,
      Reason::kRunLimit);
  EXPECT_EQ(verdict_after({StopRequested{0, StopCause::kDeadline, 1}, started("s/a")}), kInterrupted);
}

TEST(ResolvedRun, StrictTurnsWarnIntoFail) {
  AttemptEnded warned = ended("s/a", kPass);
  warned.marks = {Mark::kWarn};
  EXPECT_EQ(verdict_after({started("s/a"), warned}), kPass);
  EXPECT_EQ(verdict_after({started("s/a"), warned}, 1, true), (Verdict{Outcome::kFail, Reason::kWarn}));
  EXPECT_EQ(verdict_after({concluded("s/a", kPass, {Mark::kWarn})}, 1, true),
            (Verdict{Outcome::kFail, Reason::kWarn}));
  EXPECT_EQ(verdict_after({concluded("s/a", kPass, {Mark::kSlow})}, 1, true), kPass);
  EXPECT_EQ(verdict_after({concluded("s/a", {Outcome::kXfail, reason_in_words("x")}, {Mark::kWarn})}, 1, true)
                .outcome,
            Outcome::kXfail);
  EXPECT_EQ(verdict_after({concluded("s/a", {Outcome::kCrash, reason_in_words("x")}, {Mark::kWarn})}, 1, true)
                .outcome,
            Outcome::kCrash);
}

TEST(ResolvedRun, AttemptOnUnhealthyDeviceDoesNotCount) {
  const AttemptSuspected unhealthy{"s/a", 1, 1, "xpu:0000:03:00.0", "wrong bytes"};
  const std::vector<Event> bad = {started("s/a"), ended("s/a", kFail), unhealthy};
  EXPECT_EQ(verdict_after(bad), (Verdict{Outcome::kNotrun, Reason::kDeviceUnhealthy}));
  auto elsewhere = bad;
  elsewhere.push_back(started("s/a", 2));
  EXPECT_EQ(verdict_after(elsewhere), kInterrupted);
  elsewhere.push_back(ended("s/a", kPass, 2));
  EXPECT_EQ(verdict_after(elsewhere), kPass);
  elsewhere.back() = ended("s/a", kFail, 2);
  EXPECT_EQ(verdict_after(elsewhere), kFail);

  auto events = bad;
  events.insert(events.begin(), plan_of({planned("s/a")}));
  events.push_back(unhealthy);  // recorded twice
  events.push_back(concluded("s/a", kPass));
  const ResolvedRun run = resolved_of(events);
  EXPECT_THAT(run.cases[0].marks, ElementsAre(Mark::kDeviceSuspect));
  EXPECT_TRUE(is_suspect(run.cases[0].attempts[0]));
}

TEST(ResolvedRun, MarksAreSortedAndUnique) {
  AttemptEnded end = ended("s/a", kPass);
  end.marks = {Mark::kWarn, Mark::kLeaky, Mark::kUnconfirmed};  // the last mark does not apply to a case
  const ResolvedRun run =
      resolved_of({plan_of({planned("s/a")}), end, concluded("s/a", kPass, {Mark::kLeaky, Mark::kFlaky})});
  EXPECT_THAT(run.cases[0].marks, ElementsAre(Mark::kFlaky, Mark::kLeaky, Mark::kWarn));
}

TEST(ResolvedRun, IsolatedAttemptReplacesSharedAttempts) {
  const auto attempt = [](int number, bool shared, int repeat = 1) {
    AttemptStarted start = started("s/a", number, repeat);
    start.shared = shared;
    return start;
  };
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), attempt(1, true), attempt(2, false),
                                       attempt(1, true, 2), attempt(3, true)});
  std::vector<bool> confirmed;
  for (const Attempt& each : run.cases[0].attempts) confirmed.push_back(each.confirmed_alone);
  EXPECT_THAT(confirmed, ElementsAre(true, false, false, true)) << "the third is of another repeat";
}

TEST(ResolvedRun, UnexpectedRecordsAreWarnings) {
  const ResolvedRun run =
      resolved_of({plan_of({planned("s/a"), planned("s/a")}), started("s/b"), ended("s/b", kPass),
                   concluded("s/b", kPass), plan_of({planned("s/c")})});
  EXPECT_EQ(run.warnings.size(), 5u);
  EXPECT_EQ(run.summary.planned(), 1);
  EXPECT_NE(run.find("s/a"), nullptr);
  EXPECT_EQ(run.find("s/c"), nullptr);
}

TEST(ResolvedRun, EndWithoutStartIsAttempt) {
  const ResolvedRun run = resolved_of({plan_of({planned("s/a")}), ended("s/a", kFail)});
  ASSERT_EQ(run.cases[0].attempts.size(), 1u);
  EXPECT_EQ(run.cases[0].attempts[0].start.at_ms, 100);
}

TEST(ResolvedRun, KeepsLimitedOutputOfFailedAttempts) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {Event{}};
  for (int i = 0; i < 600; ++i) {
    const std::string id = "s/" + std::to_string(i);
    cases.push_back(planned(id));
    AttemptEnded end = ended(id, i == 0 ? kPass : kFail);
    end.output.stdout_tail = end.output.stderr_tail = std::string(32'768, 'x');
    events.push_back(std::move(end));
  }
  events[0] = plan_of(std::move(cases));
  const ResolvedRun run = resolved_of(events);
  std::size_t kept = 0;
  for (const ResolvedCase& test : run.cases) kept += test.attempts[0].end->output.stdout_tail.size() * 2;
  EXPECT_THAT(run.cases[0].attempts[0].end->output.stdout_tail, IsEmpty());
  EXPECT_EQ(kept, 16u * 1024 * 1024);
}

TEST(ResolvedRun, KeepsCoreOfLastCrash) {
  std::vector<Event> events = {plan_of({planned("a/x"), planned("a/y")})};
  const auto crash = [&](const std::string& id, int attempt) {
    AttemptEnded end = ended(id, {Outcome::kCrash, {Reason::kSignal, 11}}, attempt);
    end.evidence.core = {.file = id + std::to_string(attempt) + ".core", .program = "x", .bytes = 1};
    events.push_back(started(id, attempt));
    events.push_back(end);
  };
  crash("a/x", 1);
  crash("a/y", 1);
  crash("a/x", 2);
  events.push_back(started("a/x", 3));
  events.push_back(ended("a/x", {Outcome::kPass, ""}, 3));
  const ResolvedRun run = resolved_of(events);
  std::vector<std::string> cores;
  for (const ResolvedCase& test : run.cases) {
    for (const Attempt& attempt : test.attempts) cores.push_back(attempt.end->evidence.core.file);
  }
  EXPECT_THAT(cores, testing::ElementsAre("", "a/x2.core", "", "a/y1.core"));
}

TEST(RunResolver, ResolvesAgainAfterNewEvents) {
  RunResolver resolver;
  resolver.on(plan_of({planned("s/a")}));
  resolver.on(started("s/a"));
  EXPECT_EQ(resolver.resolve().cases[0].verdict, kInterrupted);
  EXPECT_EQ(resolver.resolve().cases[0].headline, "cut short: the runner was killed");
  resolver.on(ended("s/a", kPass));
  resolver.on(concluded("s/a", kPass));
  const ResolvedCase& test = resolver.resolve().cases[0];
  EXPECT_EQ(test.verdict, kPass);
  EXPECT_EQ(test.headline, "");
  EXPECT_EQ(test.attempts[0].headline, "");
  EXPECT_TRUE(resolver.resolve().causes.empty());
}

TEST(ResolvedRun, DefaultRunIsNotGreen) {
  EXPECT_EQ(ResolvedRun().exit_code, 3);
  EXPECT_EQ(ResolvedRun().shell_exit_code, 3);
}

TEST(ResolvedRun, CasesWithoutHardwareAreSimulated) {
  RunPlanned plan = plan_of({planned("s/a"), planned("s/b"), planned("s/c")});
  plan.devices.push_back({"xpu-sim:0", "xpu", "Card", true});
  AttemptStarted on_sim = started("s/b");
  on_sim.devices = {"xpu-sim:0"};
  const ResolvedRun mixed = resolved_of({plan, started("s/a"), on_sim});
  EXPECT_TRUE(mixed.simulated);
  EXPECT_FALSE(mixed.cases[0].simulated);
  EXPECT_TRUE(mixed.cases[1].simulated);
  EXPECT_TRUE(mixed.cases[2].simulated) << "no device tells, so it is no evidence";
  const ResolvedRun real = resolved_of({plan_of({planned("s/a")})});
  EXPECT_FALSE(real.simulated);
  EXPECT_FALSE(real.cases[0].simulated);
}

// Returns the text and one more record, without its newline.
std::string with_last(const std::string& text, const Event& event) {
  JournalChain chain;
  chain.add(text);
  std::string line = chain.append(to_json_line(event));
  line.pop_back();
  return text + line;
}

TEST(LoadJournal, WarnsAboutTornMiddleLineOnly) {
  TempDir dir;
  const auto path = dir.path() / "journal.jsonl";
  const std::vector<Event> events = {plan_of({planned("s/a"), planned("s/b")}), started("s/a"),
                                     ended("s/a", kPass), concluded("s/a", kPass)};
  const std::string text = journal_text(events);

  write_file(path, text + R"({"type":"case_ended","case":"s/b","ver)");
  auto run = load_journal(path);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_THAT(run->warnings, IsEmpty());
  EXPECT_EQ((*run->find("s/a")).verdict, kPass);
  EXPECT_EQ((*run->find("s/b")).verdict, kInterrupted);

  write_file(path, with_last(text + "{\"type\":\"case_en\n", concluded("s/b", kPass)));
  run = load_journal(path);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->warnings.size(), 1u);
  EXPECT_EQ(run->warnings[0].code, WarningCode::kJournalTruncated);
  EXPECT_THAT(run->warnings[0].text, HasSubstr("line 5"));
  EXPECT_EQ((*run->find("s/b")).verdict, kPass) << "a whole last line counts, newline or not";
}

TEST(LoadJournal, LimitsWarningsAboutTornLines) {
  TempDir dir;
  const auto path = dir.path() / "journal.jsonl";
  std::string text = journal_text({plan_of({planned("s/a")})});
  const std::string deep = std::string(1'000, '[') + std::string(1'000, ']');
  for (int i = 0; i < 500; ++i) text += "\n{\"v\":" + deep + "}\n";
  write_file(path, with_last(text, concluded("s/a", kPass)));
  const auto run = load_journal(path);
  ASSERT_TRUE(run) << run.error().what;
  ASSERT_EQ(run->warnings.size(), 101u);
  EXPECT_EQ(run->warnings.back().text, "900 more lines of the journal are ignored");
  EXPECT_EQ((*run->find("s/a")).verdict, kPass);
}

TEST(LoadJournal, ErrorNamesFile) {
  TempDir dir;
  const auto missing = load_journal(dir.path() / "journal.jsonl");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().what, HasSubstr("journal.jsonl: "));
  EXPECT_EQ(missing.error().sys_errno, ENOENT);
  EXPECT_FALSE(load_journal(dir.path()));  // a directory
  write_file(dir.path() / "journal.jsonl", "");
  EXPECT_FALSE(load_journal(dir.path() / "journal.jsonl"));
  write_file(dir.path() / "journal.jsonl", to_json_line(RunEnded{}) + "\n");
  EXPECT_FALSE(load_journal(dir.path() / "journal.jsonl"));
}

TEST(LoadJournal, RefusesOtherVersionByName) {
  TempDir dir;
  const std::string text = journal_text({plan_of({planned("s/a")}), started("s/a")});
  for (const int version : {kJournalVersion - 1, kJournalVersion + 1}) {
    std::string other = text;
    const std::string member = fmt::format("\"v\":{}", kJournalVersion);
    other.replace(other.find(member), member.size(), fmt::format("\"v\":{}", version));
    write_file(dir.path() / "journal.jsonl", other);
    const auto loaded = load_journal(dir.path() / "journal.jsonl");
    ASSERT_FALSE(loaded) << version;
    EXPECT_EQ(loaded.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(loaded.error().what, HasSubstr("line 1"));
    EXPECT_THAT(loaded.error().what, HasSubstr(fmt::format("its journal has version {}, and", version)));
  }
}

TEST(LoadJournal, MatchesLiveRun) {
  TempDir dir;
  write_file(dir.path() / "j", journal_text(rich_journal()));
  const auto loaded = load_journal(dir.path() / "j");
  ASSERT_TRUE(loaded) << loaded.error().what;
  const ResolvedRun live = resolved_of(rich_journal());
  EXPECT_EQ(loaded->summary.counts, live.summary.counts);
  EXPECT_EQ(loaded->warnings.size(), live.warnings.size());
}

// Returns records as a runner writes them, with the digests of harness/journal/journal_chain.h.
std::vector<std::string> sealed_lines(const std::vector<Event>& events, JournalChain& chain) {
  std::vector<std::string> lines;
  for (const Event& event : events) lines.push_back(chain.append(to_json_line(event)));
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

class ChangedJournal : public testing::Test {
 protected:
  // Returns the warning about such a journal; "" if there is none.
  std::string complaint(const std::string& text, bool with_seal = false) {
    write_file(path_, text);
    const JournalSeal seal{.before = chain_.state(), .after = chain_.state(), .run_id = sealed_run_};
    const auto run = load_journal(path_, with_seal ? std::optional(seal) : std::nullopt);
    if (!run) return run.error().what;
    for (const auto& warning : run->warnings) {
      if (warning.code != WarningCode::kJournalChanged) continue;
      EXPECT_EQ(run->shell_exit_code == 0, false) << "green";
      return warning.text;
    }
    return "";
  }

  const std::string id_ = "s/a";
  std::string sealed_run_ = plan_of({}).run_id;
  JournalChain chain_;
  const std::vector<std::string> lines_ =
      sealed_lines({plan_of({planned(id_)}), started(id_), ended(id_, {Outcome::kFail, {Reason::kExit, 1}}),
                    concluded(id_, {Outcome::kFail, {Reason::kExit, 1}}), RunEnded{"x", 1}},
                   chain_);
  TempDir scratch_;
  const std::filesystem::path path_ = scratch_ / "journal.jsonl";
};

TEST_F(ChangedJournal, UnchangedJournalIsAccepted) {
  EXPECT_EQ(complaint(joined(lines_)), "");
  EXPECT_EQ(complaint(joined(lines_), true), "");
}

TEST_F(ChangedJournal, ErrorNamesLineOfChangedRecord) {
  auto lines = lines_;
  for (auto& line : lines) {
    for (auto at = line.find("\"fail\""); at != line.npos; at = line.find("\"fail\""))
      line.replace(at, 6, "\"pass\"");
  }
  EXPECT_THAT(complaint(joined(lines)), testing::HasSubstr("line 3 does not fit"));
}

TEST_F(ChangedJournal, RemovedOrInsertedRecordIsDetected) {
  for (std::size_t i = 0; i + 1 < lines_.size(); ++i) {
    auto without = lines_;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(complaint(joined(without)), "") << i;
    auto twice = lines_;
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), twice[i]);
    EXPECT_NE(complaint(joined(twice)), "") << i;
    auto more = lines_;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i),
                to_json_line(concluded(id_, {Outcome::kPass, ""})) + "\n");
    EXPECT_NE(complaint(joined(more)), "") << i;
    auto garbage = lines_;
    garbage[i + 1] = "garbage\n";
    EXPECT_NE(complaint(joined(garbage)), "") << i;
  }
}

TEST_F(ChangedJournal, SealDetectsTruncatedOrExtendedJournal) {
  auto shorter = lines_;
  shorter.pop_back();
  EXPECT_EQ(complaint(joined(shorter)), "") << "a runner that was killed leaves the same";
  EXPECT_THAT(complaint(joined(shorter), true), testing::HasSubstr("it lacks"));
  JournalChain forger = chain_;
  EXPECT_THAT(
      complaint(joined(lines_) + forger.append(to_json_line(concluded(id_, {Outcome::kPass, ""}))), true),
      testing::HasSubstr("more than its runner wrote"));
}

TEST_F(ChangedJournal, JournalWithoutDigestsIsRejected) {
  const std::string text = to_json_line(plan_of({planned(id_)})) + "\n" +
                           to_json_line(concluded(id_, {Outcome::kFail, {Reason::kExit, 1}})) + "\n";
  EXPECT_THAT(complaint(text), testing::HasSubstr("none of its records has a digest"));
}

// The directory may since belong to another run than the seal.
TEST_F(ChangedJournal, SealOfOtherRunIsIgnored) {
  sealed_run_ = "another";
  auto shorter = lines_;
  shorter.pop_back();
  EXPECT_EQ(complaint(joined(shorter), true), "");
}

TEST_F(ChangedJournal, NextRecordCoversPartialLine) {
  JournalChain chain;
  std::string text = chain.append(to_json_line(plan_of({planned(id_)})));
  const std::string part = "{\"v\":2,\"type\":\"att\n";
  text += part;
  chain.add(part);
  EXPECT_NE(complaint(text), "");
  text += chain.append(to_json_line(RunEnded{"x", 1}));
  EXPECT_EQ(complaint(text), "");
}

}  // namespace
}  // namespace proctor
