#include "harness/runner/attempt/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/json.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const Clock::time_point kStart{};

ReadyPolicy policy(const std::string& pattern, const std::string& file = "") {
  return {.regex = *LineRegex::compile(pattern), .timeout = {}, .file = file};
}

// Returns the index of the write to stdout that made the process ready; -1: none.
int ready_at(const std::string& pattern, const std::vector<std::string>& writes) {
  Readiness readiness(policy(pattern), kStart);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (readiness.scan(Stream::kOut, writes[i], kStart)) return static_cast<int>(i);
  }
  return -1;
}

TEST(Readiness, RejectsInvalidRegexWithReason) {
  for (const char* pattern : {"(", "[", "a{2", "*(", "a{1,0}"}) {
    const auto regex = LineRegex::compile(pattern);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_EQ(regex.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(regex.error().what, HasSubstr("`" + std::string(pattern) + "`: ")) << pattern;
  }
  EXPECT_THAT(LineRegex::compile("(").error().what, HasSubstr("nmatched"));
}

TEST(Readiness, MatchesEachLineSeparately) {
  EXPECT_EQ(ready_at("ready (in|after) [0-9]+ s", {"loading\n", "model ready after 12 s\n"}), 1);
  EXPECT_EQ(ready_at("^up$", {"up \n", "not up\n", "up\n"}), 2);
  EXPECT_EQ(ready_at("a.*b", {"a\n", "b\n", "a b"}), 2);
  EXPECT_EQ(ready_at("^$", {"x\n", "\n"}), 1) << "an empty line is one";
  EXPECT_EQ(ready_at("never", {"ne\nver\n"}), -1);
  EXPECT_EQ(ready_at("b", {std::string("a\0b\n", 4)}), 0) << "a 0 does not end a line";
}

TEST(Readiness, JoinsPiecesOfOneLine) {
  EXPECT_EQ(ready_at("^server is up$", {"server ", "is ", "up", "\n"}), 3);
  EXPECT_EQ(ready_at("is up", {"server is", " up"}), 1) << "a prompt has no newline";
  EXPECT_EQ(ready_at("^up$", {"up", "grading\n"}), -1) << "a line that goes on has not ended";
}

TEST(Readiness, StreamEndCompletesLastLine) {
  Readiness readiness(policy("^up$"), kStart);
  EXPECT_FALSE(readiness.scan(Stream::kErr, "up", kStart));
  readiness.streams_ended(kStart + 3ms);
  EXPECT_TRUE(readiness.is_ready());
}

TEST(Readiness, MatchesStreamsSeparately) {
  Readiness readiness(policy("^is up"), kStart);
  EXPECT_FALSE(readiness.scan(Stream::kOut, "server ", kStart));
  EXPECT_TRUE(readiness.scan(Stream::kErr, "is up", kStart));
}

TEST(Readiness, LinesAreCutAt4KiB) {
  EXPECT_EQ(ready_at("x", {std::string(4095, '.') + "x\n"}), 0);
  EXPECT_EQ(ready_at("x", {std::string(4096, '.') + "x\n"}), -1);
  EXPECT_EQ(ready_at("x", {std::string(100'000, '.'), "\nx\n"}), 1) << "the line after it is whole";
}

TEST(Readiness, MeasuresTimeOfFirstMatch) {
  Readiness readiness(policy("up"), kStart);
  EXPECT_FALSE(readiness.measure());
  EXPECT_TRUE(readiness.scan(Stream::kOut, "up\n", kStart + 1500us));
  EXPECT_FALSE(readiness.scan(Stream::kOut, "up\n", kStart + 9s));
  const auto measure = readiness.measure();
  ASSERT_TRUE(measure);
  EXPECT_EQ(measure->name, "ready");
  EXPECT_EQ(measure->unit, "ms");
  EXPECT_DOUBLE_EQ(measure->value, 1.5);
}

TEST(Readiness, FileExistsFromReadyToEnd) {
  const TempDir directory;
  const std::string file = directory / "ready.json";
  {
    Readiness readiness(policy("up", file), kStart);
    EXPECT_TRUE(readiness.report({"a"}));
    EXPECT_FALSE(std::filesystem::exists(file)) << "told before it was ready";
    readiness.scan(Stream::kOut, "it is \"up\" \xff\n", kStart);
    ASSERT_TRUE(readiness.report({"xpu:0", "xpu:1"}));
    std::ifstream stream(file);
    std::string line;
    ASSERT_TRUE(std::getline(stream, line));
    const auto record = nlohmann::json::parse(line, nullptr, false);
    EXPECT_EQ(record.value("pid", 0), ::getpid());
    EXPECT_THAT(record.value("line", ""), HasSubstr("it is \"up\" "));
    EXPECT_EQ(record["devices"], nlohmann::json({"xpu:0", "xpu:1"}));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1)
        << "a draft is left";
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Readiness, ReportsUnwritableFile) {
  Readiness readiness(policy("up", "/no/such/directory/ready.json"), kStart);
  readiness.scan(Stream::kOut, "up\n", kStart);
  const auto reported = readiness.report({});
  ASSERT_FALSE(reported);
  EXPECT_THAT(reported.error().what, HasSubstr("/no/such/directory/ready.json"));
}

}  // namespace
}  // namespace proctor
