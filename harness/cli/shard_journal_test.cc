#include "harness/cli/shard_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/core/temp_dir.h"

namespace proctor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunPlanned plan_of(const std::vector<std::string>& ids) {
  RunPlanned planned;
  for (const std::string& id : ids) planned.cases.emplace_back().id = id;
  return planned;
}

CaseEnded end_of(const std::string& id, Outcome outcome) {
  CaseEnded ended;
  ended.case_id = id;
  ended.verdict.outcome = outcome;
  return ended;
}

AttemptEnded attempt_end_of(const std::string& id) {
  AttemptEnded ended;
  ended.case_id = id;
  return ended;
}

AttemptStarted start_of(const std::string& id) {
  AttemptStarted started;
  started.case_id = id;
  started.at_ms = 3'600'000;  // by a clock of its own
  started.log = "logs/" + id;
  return started;
}

class ShardJournalTest : public ::testing::Test {
 protected:
  void append(const std::string& directory, const std::string& text) {
    std::filesystem::create_directories(dir_.path() / directory);
    std::ofstream(dir_.path() / directory / "journal.jsonl", std::ios::app) << text;
  }
  void append(const std::string& directory, const Event& event) {
    append(directory, to_json_line(event) + "\n");
  }
  // "start a shard-1/logs/a", "attempt a", "end a", "warning TEXT"
  std::vector<std::string> read() {
    std::vector<std::string> said;
    journal_.read(500, [&](const Event& event) {
      if (const auto* started = std::get_if<AttemptStarted>(&event)) {
        EXPECT_EQ(started->at_ms, 500);
        said.push_back("start " + started->case_id + " " + started->log);
      } else if (const auto* attempt = std::get_if<AttemptEnded>(&event)) {
        said.push_back("attempt " + attempt->case_id);
      } else if (const auto* ended = std::get_if<CaseEnded>(&event)) {
        said.push_back("end " + ended->case_id);
      } else if (const auto* warning = std::get_if<Warning>(&event)) {
        said.push_back("warning " + warning->text);
      }
    });
    return said;
  }

  TempDir dir_;
  ShardJournal journal_{dir_.string(), 1};
};

TEST_F(ShardJournalTest, HasNotBegunWithoutAJournal) {
  EXPECT_THAT(read(), IsEmpty());
  std::filesystem::create_directories(dir_.path() / "shard-1" / "logs");
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_FALSE(journal_.has_begun());
  EXPECT_FALSE(journal_.is_complete());
}

TEST_F(ShardJournalTest, TellsWhatWasAppended) {
  append("shard-1", plan_of({"a", "b"}));
  append("shard-1", start_of("a"));
  EXPECT_THAT(read(), ElementsAre("start a shard-1/logs/a"));
  EXPECT_THAT(read(), IsEmpty());
  append("shard-1", attempt_end_of("a"));
  append("shard-1", end_of("a", Outcome::kPass));
  EXPECT_THAT(read(), ElementsAre("attempt a", "end a"));
  EXPECT_EQ(journal_.left(), 1u);
  append("shard-1", end_of("b", Outcome::kFail));
  EXPECT_THAT(read(), ElementsAre("end b"));
  EXPECT_FALSE(journal_.is_complete());
  append("shard-1", RunEnded{});
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_TRUE(journal_.is_complete());
}

TEST_F(ShardJournalTest, ReadsARecordWhenItIsComplete) {
  const std::string line = to_json_line(end_of("a", Outcome::kPass)) + "\n";
  append("shard-1", plan_of({"a"}));
  append("shard-1", line.substr(0, line.size() / 2));
  EXPECT_THAT(read(), IsEmpty());
  append("shard-1", line.substr(line.size() / 2));
  EXPECT_THAT(read(), ElementsAre("end a"));
}

TEST_F(ShardJournalTest, PassesOverALineThatIsNoRecord) {
  append("shard-1", plan_of({"a"}));
  append("shard-1", std::string("no record\n") + std::string(8, '\0') + "\n");
  append("shard-1", end_of("a", Outcome::kPass));
  EXPECT_THAT(read(), ElementsAre("end a"));
}

TEST_F(ShardJournalTest, OfACaseThatWasNotRunIsNoEnd) {
  append("shard-1", plan_of({"a"}));
  append("shard-1", end_of("a", Outcome::kNotrun));
  append("shard-1", RunEnded{});
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_TRUE(journal_.has_ended());
  EXPECT_FALSE(journal_.is_complete());
}

TEST_F(ShardJournalTest, GoesOnWithTheRestInTheNextDirectory) {
  append("shard-1", plan_of({"a", "b"}));
  append("shard-1", end_of("a", Outcome::kPass));
  append("shard-1", start_of("b"));
  append("shard-1", "{\"type\":\"case_en");  // killed in the middle of a line
  EXPECT_THAT(read(), ElementsAre("end a", "start b shard-1/logs/b"));

  std::filesystem::create_directories(dir_.path() / "shard-1.2");  // killed before its first record
  EXPECT_THAT(read(), IsEmpty());
  append("shard-1.3", plan_of({"b"}));
  append("shard-1.3", start_of("b"));
  append("shard-1.3", end_of("b", Outcome::kPass));
  append("shard-1.3", RunEnded{});
  EXPECT_THAT(read(), ElementsAre("attempt b", "start b shard-1.3/logs/b", "end b", "attempt b"));
  EXPECT_TRUE(journal_.is_complete());
  EXPECT_THAT(journal_.directories(), ElementsAre("shard-1", "shard-1.3"));
}

TEST_F(ShardJournalTest, OfARunWithoutAPlanIsNothing) {
  append("shard-1", "{\"type\":\"run_pl");
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_FALSE(journal_.has_begun());
  append("shard-1.2", plan_of({"a"}));
  read();
  EXPECT_THAT(journal_.directories(), ElementsAre("shard-1.2"));
}

TEST_F(ShardJournalTest, ARunThatHadEndedGoesOnAsWell) {
  append("shard-1", plan_of({"a"}));
  append("shard-1", end_of("a", Outcome::kNotrun));
  append("shard-1", RunEnded{});
  read();
  append("shard-1.2", plan_of({"a"}));
  read();
  EXPECT_FALSE(journal_.has_ended());
}

TEST_F(ShardJournalTest, SaysWhichShardWarns) {
  append("shard-1", plan_of({"a"}));
  append("shard-1", Warning{WarningCode::kStdoutLost, "it is full"});
  EXPECT_THAT(read(), ElementsAre("warning shard 1: it is full"));
}

}  // namespace
}  // namespace proctor::cli
