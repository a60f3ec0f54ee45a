#include "reports/resolve/run_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/temp_dir.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RunResultsTest, HasVerdictOfEachCase) {
  const ResolvedRun run = resolved_of(rich_journal());
  const RunResults results = results_of(run);
  ASSERT_THAT(results.cases, SizeIs(run.cases.size()));
  for (const CaseResult& result : results.cases) {
    const ResolvedCase* test = run.find(result.id);
    ASSERT_NE(test, nullptr);
    EXPECT_EQ(result.verdict, test->verdict);
    EXPECT_EQ(result.result_class, meaning_of(result.verdict, test->planned.kind).result_class);
    EXPECT_LT(result.variant, results.variants.size());
  }
  EXPECT_EQ(results.exit_code, run.shell_exit_code);
}

TEST(RunResultsTest, EqualFailuresShareCause) {
  std::vector<Event> events = {plan_of({planned("a/one"), planned("a/two"), planned("a/three")})};
  for (const char* id : {"a/one", "a/two"}) {
    events.emplace_back(started(id));
    AttemptEnded bad = ended(id, {Outcome::kFail, ""});
    bad.failures.emplace_back().message = "expected 4096 bytes";
    events.emplace_back(bad);
  }
  events.emplace_back(started("a/three"));
  events.emplace_back(ended("a/three", {Outcome::kPass, ""}));
  const RunResults results = results_of(resolved_of(events));
  ASSERT_THAT(results.causes, SizeIs(1));
  EXPECT_EQ(results.cases[0].cause, results.cases[1].cause);
  EXPECT_EQ(results.cases[2].cause, kNoCause);
  EXPECT_EQ(results.causes[0].text, "expected 4096 bytes");
}

TEST(RunResultsTest, CasesOfOneCauseKeepTheirMessages) {
  std::vector<Event> events = {plan_of({planned("a/137"), planned("a/637")})};
  for (const char* number : {"137", "637"}) {
    AttemptEnded bad = ended(std::string("a/") + number, {Outcome::kFail, ""});
    bad.failures.emplace_back().message = std::string("wrong at ") + number;
    events.emplace_back(started(bad.case_id));
    events.emplace_back(bad);
  }
  const RunResults results = results_of(resolved_of(events));
  ASSERT_THAT(results.causes, SizeIs(1));
  EXPECT_EQ(describe(results, results.cases[0]), "wrong at 137");
  EXPECT_EQ(describe(results, results.cases[1]), "wrong at 637");
}

TEST(RunResultsTest, VariantIsIndependentOfAssignedDevice) {
  const auto variants_with = [](const std::string& device) {
    RunPlanned plan = plan_of({planned("a/one")});
    plan.cases[0].backend = "cuda";
    plan.devices = {{.id = "cuda:GPU-1", .backend = "cuda", .name = "B"},
                    {.id = "cuda:GPU-2", .backend = "cuda", .name = "A"},
                    {.id = "cuda:GPU-3", .backend = "cuda", .name = "A"}};
    AttemptStarted start = started("a/one");
    start.devices = {device};
    return results_of(resolved_of({plan, start, ended("a/one", {Outcome::kPass, ""})})).variants;
  };
  EXPECT_EQ(variants_with("cuda:GPU-1"), variants_with("cuda:GPU-2"));
  ASSERT_THAT(variants_with("cuda:GPU-1"), SizeIs(1));
  EXPECT_EQ(variants_with("cuda:GPU-1")[0].device_model, "A + B");
}

TEST(RunResultsTest, SimulationIsSeparateVariant) {
  RunPlanned plan = plan_of({planned("a/one")});
  const auto real = results_of(resolved_of({plan})).variants;
  plan.sim = SimInfo{"xpu:2x2", "simgpu"};
  EXPECT_NE(results_of(resolved_of({plan})).variants, real);
}

TEST(RunResultsTest, StackHasDriversAndSimulatedFaults) {
  RunPlanned plan = plan_of({planned("a/one")});
  plan.stack = {{"xpu.driver", "26.35"},
                {"host.kernel", "6.1"},
                {"shard.1", "run 1 on a"},
                {"command.memory", "proctor run memory"}};
  plan.fingerprint = {{"host.kernel", "6.1", "/proc", ""}};
  const auto names = [&] {
    std::vector<std::string> texts;
    for (const StackFact& fact : results_of(resolved_of({plan})).stack)
      texts.push_back(fact.name + (fact.absent ? " absent" : " " + *fact.value));
    return texts;
  };
  EXPECT_THAT(names(), ElementsAre("host.kernel 6.1", "xpu.driver 26.35"));
  plan.sim = SimInfo{"xpu:2x2", "simgpu"};
  EXPECT_THAT(names(), ElementsAre("host.kernel 6.1", "xpu.driver 26.35", "sim.topology xpu:2x2",
                                   "sim.driver simgpu", "sim.faults absent"));
  plan.stack.emplace_back("sim.faults", "copy.short");
  EXPECT_THAT(names(), Contains("sim.faults copy.short"));
}

TEST(RunResultsTest, JournalDigestIsSha256OfFile) {
  const TempDir directory;
  write_file(directory.path() / "journal.jsonl", "abc");
  const auto digest = journal_sha256(directory.path() / "journal.jsonl");
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(journal_sha256(directory.path() / "none"));
}

TEST(RunResultsTest, ListsDevicesPerHost) {
  RunPlanned plan = plan_of({planned("s/a"), planned("s/b")});
  plan.hostname = "gpu-01, gpu-02";
  plan.devices = {{"gpu-01/xpu:0", "xpu", "Card"}, {"xpu:1", "xpu", "Card"}};
  AttemptStarted first = started("s/a");
  first.devices = {"gpu-01/xpu:0"};
  AttemptStarted second = started("s/b");
  second.devices = {"gpu-01/xpu:0"};
  const RunResults results = results_of(resolved_of(
      {plan, first, ended("s/a", {Outcome::kFail, ""}), second, ended("s/b", {Outcome::kPass, ""}),
       DeviceHealth{"xpu:1", HealthFact::kDrained, "s/b", 8, 0, 0, "lost"}}));
  ASSERT_EQ(results.devices.size(), 2u);
  EXPECT_EQ(results.devices[0].host, "gpu-01");
  EXPECT_EQ(results.devices[0].id, "xpu:0");
  EXPECT_EQ(results.devices[0].attempts, 2);
  EXPECT_EQ(results.devices[0].failed_attempts, 1);
  EXPECT_FALSE(results.devices[0].drained);
  EXPECT_EQ(results.devices[1].host, plan.hostname);
  EXPECT_TRUE(results.devices[1].drained);
}

using ::testing::Pair;

class JournalDurationsTest : public testing::Test {
 protected:
  std::map<std::string, double> durations(const std::string& text,
                                          ReadingLimit limit = {
                                              .until = std::chrono::steady_clock::time_point::max()}) {
    const std::string path = (directory_ / "journal.jsonl").string();
    std::ofstream(path, std::ios::binary) << text;
    return journal_durations(path, limit);
  }

  static AttemptEnded timed(const std::string& id, std::int64_t ms, Outcome outcome = Outcome::kPass,
                            int attempt = 1) {
    AttemptEnded end = ended(id, {outcome, Reason{}}, attempt);
    end.duration_ms = ms;
    return end;
  }

  TempDir directory_;
};

TEST_F(JournalDurationsTest, SumExecutedAttempts) {
  const std::vector<Event> events = {
      plan_of({planned("s/a"), planned("s/b"), planned("s/c"), planned("s/d")}),
      started("s/a"),
      timed("s/a", 10, Outcome::kFail),
      timed("s/a", 15, Outcome::kPass, 2),
      timed("s/b", 3),
      timed("s/c", 4, Outcome::kSkip),
      timed("s/d", 5, Outcome::kNotrun)};
  EXPECT_THAT(durations(journal_text(events)), ElementsAre(Pair("s/a", 25.0), Pair("s/b", 3.0)));
}

// Such records omit empty members.
TEST_F(JournalDurationsTest, SumAllRepeats) {
  AttemptEnded pass = timed("s/a", 10);
  AttemptEnded hang = timed("s/b", 30, Outcome::kTimeout);
  pass.repeat = hang.repeat = 2;
  EXPECT_THAT(durations(journal_text({timed("s/a", 1), pass, hang})),
              ElementsAre(Pair("s/a", 11.0), Pair("s/b", 30.0)));
}

// Tests ids with escapes, and output that resembles a record.
TEST_F(JournalDurationsTest, IgnoreRecordsInsideOutput) {
  const std::string id = "s/a \",\"exit_code\":\\ \n\xc3\xa9";
  AttemptEnded end = timed(id, 7);
  end.output.stdout_tail = R"({"v":2,"type":"attempt_ended","case":"s/x","duration_ms":9,"exit_code":0})"
                           "\n";
  end.evidence.duration_ms = 1234;
  EXPECT_THAT(durations(journal_text({end})), ElementsAre(Pair(id, 7.0)));
}

TEST_F(JournalDurationsTest, HandleLinesLongerThanBuffer) {
  AttemptEnded end = timed("s/a", 7);
  end.output.stdout_tail = std::string(std::size_t{3} << 20, 'x');
  EXPECT_THAT(durations(journal_text({end, timed("s/b", 8), end})),
              ElementsAre(Pair("s/a", 14.0), Pair("s/b", 8.0)));
}

TEST_F(JournalDurationsTest, ReadTornJournalUpToTear) {
  const std::string whole = journal_text({timed("s/a", 7), timed("s/b", 8)});
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 11) {
    const auto found = durations(whole.substr(0, bytes));
    EXPECT_EQ(found.contains("s/a"), bytes > whole.find('\n')) << bytes;
    EXPECT_FALSE(found.contains("s/b")) << bytes;
  }
}

TEST_F(JournalDurationsTest, AreEmptyForInvalidJournal) {
  EXPECT_THAT(durations(std::string(5000, '\0')), IsEmpty());
  EXPECT_THAT(
      durations("{\"type\":\"attempt_ended\",\"case\":[[[\n\"type\":\"attempt_ended\",\"exit_code\":1\n"),
      IsEmpty());
  ReadingLimit limit;
  EXPECT_THAT(journal_durations((directory_ / "none").string(), limit), IsEmpty());
  EXPECT_THAT(journal_durations(directory_.path().string(), limit), IsEmpty());
}

TEST_F(JournalDurationsTest, StopAtTheLimit) {
  const std::string first = journal_text({timed("s/a", 7)});
  EXPECT_THAT(durations(first + journal_text({timed("s/b", 8)}), {.bytes = first.size() + 9}),
              ElementsAre(Pair("s/a", 7.0)));
  AttemptEnded long_one = timed("s/a", 7);
  long_one.output.stdout_tail = std::string(std::size_t{3} << 20, 'x');
  EXPECT_THAT(durations(first + journal_text({long_one, timed("s/b", 8)}), {.until = {}}),
              ElementsAre(Pair("s/a", 7.0)));
}

}  // namespace

}  // namespace proctor
