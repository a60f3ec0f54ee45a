#include "reports/resolve/log_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/journal/event_words.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(LogReader, ReturnsLinesOfProgram) {
  LogReader reader;
  EXPECT_THAT(
      reader.add("     0.001000 out| one\n     0.002000 err\\ half\n123456.000001 out|  indented\n"
                 "     0.003000 err|  whole\n     0.003000 out| \n"
                 "-------- 12 bytes of output dropped here --------\n     0.004000 out\\ open\n"),
      ElementsAre("one", " indented", "half whole", "", "-------- 12 bytes of output dropped here --------"));
  EXPECT_THAT(reader.finish(), ElementsAre("open"));
  EXPECT_THAT(reader.finish(), IsEmpty());
}

// Output of a program that resembles an entry follows a real entry prefix.
TEST(LogReader, KeepsOutputThatResemblesLogEntry) {
  LogReader reader;
  EXPECT_THAT(reader.add("     0.001000 out|      0.002000 err| not an entry\nplain words\n1.2 out: x\n"),
              ElementsAre("     0.002000 err| not an entry", "plain words", "1.2 out: x"));
}

TEST(LastLines, ReturnsWholeLinesWithinLimits) {
  const std::vector<std::string> all = {"aaaa", "bbbb", "cccc"};
  EXPECT_THAT(last_lines_of(all, 2, 100).lines, ElementsAre("bbbb", "cccc"));
  EXPECT_FALSE(last_lines_of(all, 2, 100).is_all);
  EXPECT_THAT(last_lines_of(all, 9, 9).lines, ElementsAre("bbbb", "cccc"));
  EXPECT_TRUE(last_lines_of(all, 3, 12).is_all);
  EXPECT_THAT(last_lines_of({"0123456789"}, 3, 4).lines, ElementsAre("…6789"));
  EXPECT_THAT(last_lines_of({}, 3, 4).lines, IsEmpty());
}

// Several cases share a log. Each reads the text that was added since the last read.
TEST(LinesOfLog, ContinuesFromLastOffset) {
  const TempDir directory;
  const std::string path = directory.string() + "/log";
  std::ofstream(path) << "     0.001000 out| one\n     0.001000 err\\ two and a ha\n";
  std::uint64_t from = 0;
  EXPECT_THAT(lines_of_log(path, from, 1 << 20).lines, ElementsAre("one", "two and a ha"));
  EXPECT_THAT(lines_of_log(path, from, 1 << 20).lines, IsEmpty());
  std::fstream log(path,
                   std::ios::in | std::ios::out);  // harness/process/capture.cc continues a line like this
  log.seekp(-1, std::ios::end);
  log << "lf\n     0.002000 out| three\n";
  log.flush();
  EXPECT_THAT(lines_of_log(path, from, 1 << 20).lines, ElementsAre("lf", "three"));
  log << "     0.003000 out| four\n     0.003000 out| five\n";
  log.flush();
  const LastLines last = lines_of_log(path, from, 24);
  EXPECT_THAT(last.lines, ElementsAre("five"));
  EXPECT_FALSE(last.is_all);
  EXPECT_THAT(lines_of_log(path + "x", from, 1 << 20).lines, IsEmpty());
}

TEST(LastLines, IgnoresMarkForNoOutput) {
  const TempDir directory;
  const std::string path = directory.string() + "/log";
  std::ofstream(path) << kNoOutputMark << '\n';
  EXPECT_THAT(last_lines_of_log(path, 40, 8192).lines, IsEmpty());
}

TEST(LastLines, ReadsEndOfLargeLog) {
  const TempDir directory;
  const std::string path = directory.string() + "/log";
  {
    std::ofstream log(path);
    for (int i = 0; i < 100'000; ++i) log << "     0.001000 out| line " << i << '\n';
  }
  const LastLines last = last_lines_of_log(path, 40, 8192);
  ASSERT_THAT(last.lines, SizeIs(40));
  EXPECT_EQ(last.lines.front(), "line 99960");
  EXPECT_EQ(last.lines.back(), "line 99999");
  EXPECT_FALSE(last.is_all);
  EXPECT_THAT(last_lines_of_log(directory.string(), 40, 8192).lines, IsEmpty());
  EXPECT_THAT(last_lines_of_log(path + "x", 40, 8192).lines, IsEmpty());
}

}  // namespace
}  // namespace proctor
