#include "harness/journal/journal_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::HasSubstr;

TEST(JournalChain, AcceptsRecordsOnlyInOrder) {
  JournalChain writer;
  JournalChain reader;
  for (const char* record : {R"({"a":1})", R"({"b":"x"})", R"({"c":[]})"}) {
    const bool first = writer.state().bytes == 0;
    const std::string line = writer.append(record);
    ASSERT_EQ(line.back(), '\n');
    EXPECT_TRUE(has_sum(line.substr(0, line.size() - 1)));
    EXPECT_EQ(JournalChain().follow(line), first);
    JournalChain cut = reader;
    EXPECT_TRUE(cut.follow(line.substr(0, line.size() - 1)))
        << "without its newline it is whole all the same";
    EXPECT_TRUE(reader.follow(line));
    EXPECT_EQ(reader.state().digest, writer.state().digest);
    EXPECT_EQ(reader.state().bytes, writer.state().bytes);
    JournalChain twice = reader;
    EXPECT_FALSE(twice.follow(line));
  }
}

TEST(JournalChain, DetectsChangedByte) {
  const std::string line = JournalChain().append(R"({"outcome":"fail"})");
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(JournalChain().follow(changed)) << changed;
  }
  for (const char* none : {"", "{}", R"({"sum":""})", R"({"a":1,"sum":"0"})"}) {
    EXPECT_FALSE(has_sum(none)) << none;
    EXPECT_FALSE(JournalChain().follow(none)) << none;
  }
}

class JournalSealTest : public testing::Test {
 protected:
  void SetUp() override {
    add("{\"a\":1}");
    seal_.before = chain_.state();
    add("{\"b\":2}");
    seal_.after = chain_.state();
  }
  void add(const std::string& record) { text_ += chain_.append(record); }
  std::string difference_of(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return difference(path_, seal_);
  }

  TempDir scratch_;
  const std::string path_ = scratch_ / "journal.jsonl";
  JournalChain chain_;
  JournalSeal seal_;
  std::string text_;
};

TEST_F(JournalSealTest, AcceptsPartOfLastRecord) {
  for (std::size_t size = seal_.before.bytes; size <= text_.size(); ++size) {
    EXPECT_EQ(difference_of(text_.substr(0, size)), "") << size;
  }
}

TEST_F(JournalSealTest, ReportsEveryOtherDifference) {
  EXPECT_EQ(difference_of(text_ + "x"), "it has 1 bytes more than its runner wrote");
  EXPECT_THAT(difference_of(text_.substr(0, seal_.before.bytes - 1)), HasSubstr("it lacks 1 of the"));
  EXPECT_THAT(difference_of(""), HasSubstr("it lacks"));
  std::string changed = text_;
  changed[4] = '9';
  EXPECT_EQ(difference_of(changed), "its bytes are others than its runner wrote");
  changed = text_;
  changed[seal_.before.bytes + 4] = '9';
  EXPECT_EQ(difference_of(changed), "its last record is another one than its runner wrote");
}

TEST_F(JournalSealTest, ReportsMissingOrIrregularFile) {
  EXPECT_THAT(difference(path_, seal_), HasSubstr("No such file"));
  ASSERT_EQ(difference_of(text_), "");
  std::filesystem::rename(path_, path_ + ".2");
  std::filesystem::create_symlink(path_ + ".2", path_);
  EXPECT_EQ(difference(path_, seal_), "it is a link");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(difference(path_, seal_), "it is not a regular file");
}

}  // namespace
}  // namespace proctor
