#include "reports/resolve/journal_durations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/temp_dir.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
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

TEST_F(JournalDurationsTest, AreSumsOfTheAttemptsThatWereExecuted) {
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

// Such records leave empty members out.
TEST_F(JournalDurationsTest, OfRepeatsAreThoseOfAllRepeats) {
  AttemptEnded pass = timed("s/a", 10);
  AttemptEnded hang = timed("s/b", 30, Outcome::kTimeout);
  pass.repeat = hang.repeat = 2;
  EXPECT_THAT(durations(journal_text({timed("s/a", 1), pass, hang})),
              ElementsAre(Pair("s/a", 11.0), Pair("s/b", 30.0)));
}

// Ids that need escapes, and output that looks like what is searched for.
TEST_F(JournalDurationsTest, AreThoseOfTheRecordAndNotOfTextsInIt) {
  const std::string id = "s/a \",\"exit_code\":\\ \n\xc3\xa9";
  AttemptEnded end = timed(id, 7);
  end.output.stdout_tail = R"({"v":1,"type":"attempt_ended","case":"s/x","duration_ms":9,"exit_code":0})"
                           "\n";
  end.evidence.duration_ms = 1234;
  EXPECT_THAT(durations(journal_text({end})), ElementsAre(Pair(id, 7.0)));
}

TEST_F(JournalDurationsTest, OfLinesLongerThanAPiece) {
  AttemptEnded end = timed("s/a", 7);
  end.output.stdout_tail = std::string(std::size_t{3} << 20, 'x');
  EXPECT_THAT(durations(journal_text({end, timed("s/b", 8), end})),
              ElementsAre(Pair("s/a", 14.0), Pair("s/b", 8.0)));
}

TEST_F(JournalDurationsTest, OfATornJournalAreThoseBeforeTheTear) {
  const std::string whole = journal_text({timed("s/a", 7), timed("s/b", 8)});
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 11) {
    const auto found = durations(whole.substr(0, bytes));
    EXPECT_EQ(found.contains("s/a"), bytes > whole.find('\n')) << bytes;
    EXPECT_FALSE(found.contains("s/b")) << bytes;
  }
}

TEST_F(JournalDurationsTest, OfWhatIsNoJournalAreNone) {
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
