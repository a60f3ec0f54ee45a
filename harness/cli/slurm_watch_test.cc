#include "harness/cli/slurm_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/journal/events.h"

namespace proctor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

class SlurmShards : public ::testing::Test {
 protected:
  void append(const std::string& run, const std::string& text) const {
    std::filesystem::create_directories(dir_.path() / run);
    std::ofstream(dir_.path() / run / "journal.jsonl", std::ios::app) << text;
  }
  void append(const std::string& run, const Event& event) const { append(run, to_json_line(event) + "\n"); }
  ShardRuns read() const { return read_shard(dir_.string(), 1); }

  TempDir dir_;
};

TEST_F(SlurmShards, HaveNoRunWithoutAJournal) {
  EXPECT_THAT(read().directories, IsEmpty());
  std::filesystem::create_directories(dir_.path() / "shard-1" / "logs");
  append("shard-1.2", "{\"type\":\"run_pl");
  EXPECT_THAT(read().directories, IsEmpty());
  EXPECT_FALSE(read().is_complete);
}

TEST_F(SlurmShards, NameAJournalThatCannotBeRead) {
  std::filesystem::create_directories(dir_.path() / "shard-1");
  EXPECT_THAT(read().unreadable, IsEmpty());
  append("shard-1.2", "{\"type\":\"run_pl");
  EXPECT_THAT(read().unreadable, ElementsAre(HasSubstr("shard-1.2/journal.jsonl")));
  append("shard-1.3", plan_of({"a"}));
  EXPECT_THAT(read().directories, ElementsAre(dir_ / "shard-1.3"));
}

TEST_F(SlurmShards, AreCompleteAfterRunEnd) {
  append("shard-1", plan_of({"a", "b"}));
  append("shard-1", end_of("a", Outcome::kPass));
  append("shard-1", end_of("b", Outcome::kFail));
  EXPECT_FALSE(read().is_complete);
  append("shard-1", RunEnded{});
  EXPECT_TRUE(read().is_complete);
  EXPECT_THAT(read().directories, ElementsAre(dir_ / "shard-1"));
}

TEST_F(SlurmShards, ContinueInNextDirectory) {
  append("shard-1", plan_of({"a", "b"}));
  append("shard-1", end_of("a", Outcome::kPass));
  append("shard-1", end_of("b", Outcome::kNotrun));
  append("shard-1", RunEnded{});
  EXPECT_FALSE(read().is_complete);
  std::filesystem::create_directories(dir_.path() / "shard-1.2");
  append("shard-1.3", plan_of({"b"}));
  append("shard-1.3", end_of("b", Outcome::kPass));
  EXPECT_FALSE(read().is_complete);
  append("shard-1.3", RunEnded{});
  EXPECT_TRUE(read().is_complete);
  EXPECT_THAT(read().directories, ElementsAre(dir_ / "shard-1", dir_ / "shard-1.3"));
}

TEST_F(SlurmShards, FindReportOfLastRun) {
  EXPECT_FALSE(has_report(dir_.string(), 1));
  append("shard-1", "");
  std::ofstream(dir_.path() / "shard-1" / "report.json") << "{}";
  EXPECT_TRUE(has_report(dir_.string(), 1));
  append("shard-1.2", "");
  EXPECT_FALSE(has_report(dir_.string(), 1));
}

}  // namespace

}  // namespace proctor::cli
