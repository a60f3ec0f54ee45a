#include "harness/runner/attempt/rank_reports.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/frameworks/command.h"
#include "harness/frameworks/proctor.h"

namespace proctor {
namespace {

// Creates the events of the ranks of a case.
class Ranks {
 public:
  explicit Ranks(std::size_t count, const Kind& kind = proctor_kind()) : reports(kCase, kind, count) {}

  Ranks& say(int rank, const std::string& event, const std::string& fields = "") {
    reports.add_line(fmt::format(R"({} {{"v":1,"case":"{}","event":"{}"{}}})", rank, kCase, event,
                                 fields.empty() ? "" : "," + fields));
    return *this;
  }
  Ranks& exits(int rank, int code) { return end(rank, fmt::format(R"("exit":{},"signal":null)", code)); }
  Ranks& dies(int rank, int signal, bool by_runner = false) {
    return end(rank, fmt::format(R"("exit":null,"signal":{},"pid":{},"core":true,"stopped_by_proctor":{})",
                                 signal, 100 + rank, by_runner));
  }
  Ranks& passes(int rank) { return say(rank, "end", R"("result":"pass")").exits(rank, 0); }
  Ranks& skips(int rank, const std::string& why) {
    return say(rank, "end", fmt::format(R"("result":"skip","reason":"{}")", why)).exits(rank, 0);
  }
  Ranks& fails(int rank, const std::string& message) {
    say(rank, "fail", fmt::format(R"("t_ns":{},"message":"{}")", ++now_, message));
    return say(rank, "end", R"("result":"fail")").exits(rank, 1);
  }
  std::string verdict(EndCause cause = EndCause::kExited) {
    AttemptEvidence supervisor{.kind = &proctor_kind(), .cause = cause};
    supervisor.exit_code = 0;
    return to_string(reports.judge(supervisor));
  }

  RankReports reports;

 private:
  Ranks& end(int rank, const std::string& how) {
    reports.add_line(fmt::format(R"({{"rank":{},"v":1,"event":"rank_end",{}}})", rank, how));
    return *this;
  }

  static constexpr const char* kCase = "G.N";
  int now_ = 0;
};

TEST(RankVerdict, PassesIfAllRanksPass) { EXPECT_EQ(Ranks(2).passes(1).passes(0).verdict(), "pass"); }

TEST(RankVerdict, ForbiddenLeakFails) {
  AttemptEvidence supervisor{.kind = &proctor_kind(), .cause = EndCause::kExited};
  supervisor.exit_code = 0;
  supervisor.forbidden_leak = true;
  EXPECT_EQ(to_string(Ranks(2).passes(1).passes(0).reports.judge(supervisor)), "fail(leaky)");
  EXPECT_EQ(to_string(Ranks(2).passes(1).fails(0, "wrong").reports.judge(supervisor)), "fail");
}

TEST(RankVerdict, FirstBadEndGivesVerdict) {
  EXPECT_EQ(Ranks(3).passes(0).dies(2, 11).fails(1, "peer lost").verdict(), "crash(signal:11)");
  EXPECT_EQ(Ranks(3).fails(1, "wrong").dies(2, 6).passes(0).verdict(), "fail");
}

// A process of the case can kill its supervisor with kill(-1, SIGKILL).
TEST(RankVerdict, KilledSupervisorIsCrash) {
  AttemptEvidence supervisor{.kind = &proctor_kind(), .cause = EndCause::kExited};
  supervisor.exit_signal = 9;
  EXPECT_EQ(to_string(Ranks(3).reports.judge(supervisor)), "crash(signal:9)");
  EXPECT_EQ(to_string(Ranks(3).passes(0).dies(1, 9).reports.judge(supervisor)), "crash(signal:9)");
  EXPECT_EQ(to_string(Ranks(3).passes(0).fails(1, "wrong").reports.judge(supervisor)), "fail");
  supervisor.cause = EndCause::kGuardLost;
  EXPECT_EQ(to_string(Ranks(3).reports.judge(supervisor)), "error(guard_lost)");
  supervisor = {.kind = &proctor_kind(), .cause = EndCause::kExited, .exit_code = 1};
  EXPECT_EQ(to_string(Ranks(3).reports.judge(supervisor)), "error(rank_lost)");
}

TEST(RankVerdict, UsesSkipCodeOfSuite) {
  const auto verdict = [](int skip_code) {
    RankReports reports("c", command_kind(), 2, skip_code);
    for (const int rank : {0, 1})
      reports.add_line(
          fmt::format(R"({{"rank":{},"v":1,"event":"rank_end","exit":77,"signal":null}})", rank));
    AttemptEvidence supervisor{.kind = &command_kind(), .exit_code = 0};
    return to_string(reports.judge(supervisor));
  };
  EXPECT_EQ(verdict(77), "skip(exit:77)");
  EXPECT_EQ(verdict(0), "fail(exit:77)");
}

TEST(RankVerdict, ReportsCrashOfFirstBadRank) {
  Ranks ranks(3);
  ranks.passes(0).dies(2, 11).dies(1, 6);
  const auto crash = ranks.reports.crash_of_answer();
  ASSERT_TRUE(crash);
  EXPECT_EQ(crash->pid, 102);
  EXPECT_EQ(crash->signal, 11);
  EXPECT_TRUE(crash->core_dumped);
  EXPECT_FALSE(Ranks(2).fails(0, "wrong").dies(1, 11).reports.crash_of_answer());
  EXPECT_FALSE(Ranks(2).dies(0, 9, true).passes(1).reports.crash_of_answer()) << "the runner ended it";
  EXPECT_FALSE(
      Ranks(2).say(0, "leave", R"("how":"signal:9")").dies(0, 11).passes(1).reports.crash_of_answer());
}

TEST(RankVerdict, IgnoresRanksEndedByRunner) {
  EXPECT_EQ(Ranks(3).dies(0, 9, true).fails(1, "wrong").passes(2).verdict(), "fail");
  EXPECT_EQ(Ranks(2).dies(0, 9, true).passes(1).verdict(), "timeout(stopped_by_proctor)");
}

TEST(RankVerdict, AnnouncedEndPasses) {
  EXPECT_EQ(Ranks(2).say(0, "leave", R"("how":"signal:9")").dies(0, 9).passes(1).verdict(), "pass");
  EXPECT_EQ(Ranks(2).say(0, "leave", R"("how":"ended")").dies(0, 9, true).passes(1).verdict(), "pass");
}

TEST(RankVerdict, EndOtherThanAnnouncedFails) {
  EXPECT_EQ(Ranks(2).say(0, "leave", R"("how":"signal:9")").exits(0, 0).passes(1).verdict(),
            "fail(rank_ended:exit:0)");
  EXPECT_EQ(Ranks(2).say(0, "leave", R"("how":"exit:3")").dies(0, 9, true).passes(1).verdict(),
            "fail(rank_ended:ended)");
  EXPECT_EQ(Ranks(2).say(0, "fail").say(0, "leave", R"("how":"signal:9")").dies(0, 9).passes(1).verdict(),
            "fail");
}

// Rank 1 fails after its first step, so its fault is not part of the setup. Rank 0, which fails, begins its step later.
TEST(RankVerdict, FirstStepOfAnyRankEndsSetup) {
  Ranks ranks(2);
  ranks.say(0, "start", R"("t_ns":10)").say(1, "start", R"("t_ns":11)");
  ranks.say(1, "step", R"("t_ns":20,"name":"s")").say(0, "step", R"("t_ns":40,"name":"s")");
  ranks.say(0, "fail", R"("t_ns":50,"message":"wrong")");
  EXPECT_EQ(ranks.reports.merged().set_up_ns(), 20);
  EXPECT_EQ(ranks.reports.merged().first_failure_ns(), 50);
}

TEST(RankVerdict, SkipNeedsSameReasonInAllRanks) {
  EXPECT_EQ(Ranks(2).skips(0, "needs:x").skips(1, "needs:x").verdict(), "skip(needs:x)");
  EXPECT_EQ(Ranks(2).skips(0, "needs:x").skips(1, "needs:y").verdict(), "error(ranks_disagree)");
  EXPECT_EQ(Ranks(2).skips(0, "needs:x").passes(1).verdict(), "error(ranks_disagree)");
}

TEST(RankVerdict, MissingRankIsError) {
  EXPECT_EQ(Ranks(2).passes(0).verdict(), "error(rank_lost)");
  Ranks leaked(1);
  leaked.passes(0).reports.add_line("noise");
  EXPECT_EQ(leaked.verdict(), "error(rank_lost)");
}

// Each line belongs to its rank, whatever its text is. A line that is not an event of the case violates the protocol.
TEST(RankVerdict, InvalidLineIsProtocolErrorOfRank) {
  const std::string deep(32'000, '[');
  for (const std::string& said :
       {std::string("noise"), std::string(), std::string("[1]"), deep, R"({"v":1,"event":)" + deep,
        std::string("{bad"), std::string(R"({"rank":1,"event":"rank_end","exit":3})"),
        std::string(R"(1 {"v":1,"event":"end"})")}) {
    Ranks ranks(2);
    ranks.reports.add_line("0 " + said);
    EXPECT_EQ(ranks.passes(0).passes(1).verdict(), "error(protocol)") << said.substr(0, 40);
    EXPECT_EQ(to_string(*ranks.reports.ends()[1].verdict), "pass") << said.substr(0, 40);
  }
  for (const std::string& said :
       {std::string("2 {}"), std::string("-1 {}"), std::string("0"), std::string("0x {}"), deep,
        std::string(R"({"rank":2,"event":"rank_end"})"), "99999999999999999999 " + deep}) {
    Ranks ranks(2);
    ranks.passes(0).passes(1).reports.add_line(said);
    EXPECT_EQ(ranks.verdict(), "error(rank_lost)") << said.substr(0, 40);
  }
}

// A stop arrives in the grace period of a limit. The limit has already interrupted the ranks, and they have ended.
TEST(RankVerdict, StopAfterLimitKeepsTimeout) {
  Ranks ranks(2);
  ranks.passes(0).reports.interrupt();
  ranks.dies(1, 15).reports.interrupt();
  EXPECT_EQ(ranks.verdict(EndCause::kTimeout), "timeout");
  EXPECT_FALSE(ranks.reports.ends()[1].verdict);
}

TEST(RankVerdict, RankWithoutResultIsError) {
  EXPECT_EQ(Ranks(2).passes(0).exits(1, 0).verdict(), "error(no_result)");
}

TEST(RankVerdict, BadEndBeforeLimitGivesVerdict) {
  Ranks ranks(3);
  ranks.passes(0).dies(2, 11).reports.interrupt();
  ranks.dies(1, 9);
  EXPECT_EQ(ranks.verdict(EndCause::kTimeout), "crash(signal:11)");
  EXPECT_EQ(ranks.verdict(EndCause::kStall), "crash(signal:11)");
  EXPECT_EQ(ranks.verdict(EndCause::kStopped), "notrun(interrupted)") << "a stop decides nothing";
  EXPECT_EQ(ranks.reports.who_answers(), "rank 2: crash(signal:11)");
  Ranks killed(2);
  killed.passes(0).dies(1, 9, true);
  EXPECT_EQ(killed.verdict(EndCause::kTimeout), "timeout") << "nobody was bad by itself";
}

TEST(RankVerdict, ReturnsOutputOfFirstBadRank) {
  Ranks ranks(2);
  EXPECT_FALSE(ranks.reports.describe_answer());
  ranks.reports.add_line(
      R"({"rank":1,"v":1,"event":"rank_end","exit":3,"signal":null,"out":"one","err":"two"})");
  ranks.passes(0);
  ASSERT_TRUE(ranks.reports.describe_answer());
  EXPECT_EQ(ranks.reports.describe_answer()->out, "one");
  EXPECT_EQ(ranks.reports.describe_answer()->err, "two");
}

TEST(RankVerdict, TimeoutListsUnfinishedRanks) {
  Ranks ranks(3);
  ranks.passes(0).say(1, "step", R"("name":"reduce")");
  EXPECT_EQ(ranks.verdict(EndCause::kTimeout), "timeout");
  EXPECT_EQ(ranks.reports.who_is_left(),
            "had not ended: rank 1 in step \"reduce\", rank 2 before its first step");
}

TEST(RankVerdict, RankEndedByLimitHasNoVerdict) {
  Ranks ranks(2);
  ranks.passes(0).reports.interrupt();
  ranks.dies(1, 15);
  EXPECT_FALSE(ranks.reports.ends()[1].verdict);
  EXPECT_EQ(ranks.reports.who_is_left(), "had not ended: rank 1 before its first step");
}

TEST(RankVerdict, NamesFirstBadRank) {
  Ranks ranks(2);
  ranks.say(1, "step", R"("name":"reduce")").dies(1, 11).passes(0);
  EXPECT_EQ(ranks.reports.who_answers(), "rank 1: crash(signal:11) in step \"reduce\"");
  EXPECT_EQ(Ranks(1).fails(0, "wrong").reports.who_answers(), "");
}

TEST(RankVerdict, JudgesCommandsByExitCode) {
  EXPECT_EQ(Ranks(2, command_kind()).exits(0, 0).exits(1, 0).verdict(), "pass");
  EXPECT_EQ(Ranks(2, command_kind()).exits(0, 0).exits(1, 4).verdict(), "fail(exit:4)");
}

TEST(RankReports, MergedFailuresNameRank) {
  Ranks ranks(3);
  ranks.fails(2, "first").fails(1, "second").passes(0);
  const ChildReport merged = ranks.reports.merged();
  ASSERT_EQ(merged.failures().size(), 2u);
  EXPECT_EQ(merged.failures()[0].message, "rank 1: second");
  EXPECT_EQ(merged.failures()[1].message, "rank 2: first");
  EXPECT_EQ(merged.first_failure_ns(), 1);
}

TEST(RankReports, OrdersEndsByRank) {
  Ranks ranks(3);
  ranks.dies(2, 9).passes(0);
  const auto ends = ranks.reports.ends();
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(to_string(*ends[0].verdict), "pass");
  EXPECT_FALSE(ends[1].verdict);
  EXPECT_EQ(to_string(*ends[2].verdict), "crash(signal:9)");
}

}  // namespace
}  // namespace proctor
