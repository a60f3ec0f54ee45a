#include "harness/runner/record/program_digests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Received : public EventSink {
 public:
  void on(const Event& event) override {
    if (const auto* read = std::get_if<ProgramRead>(&event)) {
      if (programs.contains(read->program)) {
        EXPECT_EQ(read->sha256, "") << "twice";
      }
      programs[read->program] = *read;
    }
    if (const auto* warning = std::get_if<Warning>(&event)) warnings.push_back(warning->code);
  }
  std::map<std::string, ProgramRead> programs;
  std::vector<WarningWord> warnings;
};

class ProgramDigestsTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = directory_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::vector<PlannedSuite> suites(const std::vector<std::string>& programs) {
    std::vector<PlannedSuite> made;
    for (const std::string& program : programs) made.push_back({.name = "s", .program = program});
    return made;
  }
  // The clock for file times has a coarse resolution.
  void wait_for_another_ctime() {
    const auto ctime_of = [this] {
      struct stat now {};
      ::stat(write("clock", "").c_str(), &now);
      return std::pair(now.st_ctim.tv_sec, now.st_ctim.tv_nsec);
    };
    const auto first = ctime_of();
    while (ctime_of() == first) {
    }
  }

  TempDir directory_;
  Received received_;
  const std::function<bool()> nobody_ = [] { return false; };  // no stop is requested
};

TEST_F(ProgramDigestsTest, ReadsSharedProgramOnce) {
  const std::string text(3 * ProgramDigests::kPieceBytes + 5, 'x');
  const std::string large = write("large", text);
  const std::string empty = write("empty", "");
  ProgramDigests digests(suites({large, empty, large, ""}));
  digests.finish(received_, Milliseconds(60'000), nobody_);
  ASSERT_EQ(received_.programs.size(), 2u);
  EXPECT_EQ(received_.programs.at(large).sha256, sha256_hex(text));
  EXPECT_EQ(received_.programs.at(empty).sha256, sha256_hex(""));
  digests.read_piece(received_);  // no piece remains
}

// The start of a run reads nothing, and a tick reads one piece, whatever the size of the program.
TEST_F(ProgramDigestsTest, ReadsOnePiecePerCall) {
  const std::string large = write("large", std::string(2 * ProgramDigests::kPieceBytes + 1, 'x'));
  ProgramDigests digests(suites({large}));
  for (int piece = 0; piece < 3; ++piece) {
    digests.read_piece(received_);
    EXPECT_TRUE(received_.programs.empty()) << piece;
  }
  digests.read_piece(received_);  // detects the end of the file
  EXPECT_EQ(received_.programs.size(), 1u);
}

TEST_F(ProgramDigestsTest, ChangedProgramHasWarningAndNoDigest) {
  const std::string changed = write("changed", std::string(2 * ProgramDigests::kPieceBytes, 'x'));
  const std::string replaced = write("replaced", "old");
  ProgramDigests digests(suites({changed, replaced}));
  digests.read_piece(received_);
  std::ofstream(changed, std::ios::app) << "more";
  fs::rename(write("new", "new"), replaced);
  digests.finish(received_, Milliseconds(60'000), nobody_);
  for (const std::string& program : {changed, replaced}) {
    EXPECT_EQ(received_.programs.at(program).sha256, "");
    EXPECT_THAT(received_.programs.at(program).reason, HasSubstr("changed during the run"));
  }
  EXPECT_THAT(received_.warnings,
              testing::ElementsAre(WarningCode::kProgramChanged, WarningCode::kProgramChanged));
}

// A tested script may replace itself with the bytes that a policy pins, before or after it was read.
TEST_F(ProgramDigestsTest, RestoredContentsDoNotHideChange) {
  const std::string before = write("before", "exit 0");
  const std::string after = write("after", "exit 1");
  ProgramDigests digests(suites({before, after}));
  const auto rewrite = [](const std::string& program, const std::string& text) {
    const auto date = fs::last_write_time(program);
    std::ofstream(program, std::ios::binary) << text;
    fs::last_write_time(program, date);
  };
  wait_for_another_ctime();
  rewrite(before, "exit 1");
  for (int piece = 0; piece < 4; ++piece) digests.read_piece(received_);
  EXPECT_EQ(received_.programs.at(after).sha256, sha256_hex("exit 1"));
  rewrite(after, "exit 0");
  rewrite(after, "exit 1");
  digests.finish(received_, Milliseconds(60'000), nobody_);
  for (const std::string& program : {before, after}) {
    EXPECT_EQ(received_.programs.at(program).sha256, "") << program;
    EXPECT_THAT(received_.programs.at(program).reason, HasSubstr("changed during the run"));
  }
  EXPECT_THAT(received_.warnings,
              testing::ElementsAre(WarningCode::kProgramChanged, WarningCode::kProgramChanged));
}

TEST_F(ProgramDigestsTest, TemporaryLinkChangeIsDetected) {
  const std::string good = write("good", "exit 1");
  const std::string bad = write("bad", "exit 0");
  const std::string program = (directory_.path() / "program").string();
  fs::create_symlink(good, program);
  ProgramDigests digests(suites({program}));
  wait_for_another_ctime();
  for (const std::string& target : {bad, good}) {
    fs::create_symlink(target, program + ".new");
    fs::rename(program + ".new", program);
  }
  digests.finish(received_, Milliseconds(60'000), nobody_);
  EXPECT_EQ(received_.programs.at(program).sha256, "");
}

TEST_F(ProgramDigestsTest, ReportsReasonForMissingDigest) {
  const std::string has_ended = (directory_.path() / "gone").string();
  const std::string large = write("large", std::string(ProgramDigests::kPieceBytes, 'x'));
  ProgramDigests digests(suites({has_ended, directory_.path().string(), large}));
  digests.read_piece(received_);
  digests.read_piece(received_);
  digests.finish(received_, Milliseconds(0), nobody_);
  EXPECT_THAT(received_.programs.at(has_ended).reason, HasSubstr("no such file"));
  EXPECT_THAT(received_.programs.at(directory_.path().string()).reason, HasSubstr("no such file"));
  EXPECT_THAT(received_.programs.at(large).reason, HasSubstr("longer than 0 ms"));
  EXPECT_TRUE(received_.warnings.empty());
}

// A sparse script of 30 GB that exits at once. Its run also ends at once, and the other program has a digest.
TEST_F(ProgramDigestsTest, SkipsLargeProgramAtRunEnd) {
  const std::string huge = write("huge", "exit 0");
  fs::resize_file(huge, std::uint64_t{30} << 30);
  const std::string small = write("small", "exit 0");
  ProgramDigests digests(suites({huge, small}));
  digests.read_piece(received_);
  digests.finish(received_, Milliseconds(60'000), nobody_);
  EXPECT_EQ(received_.programs.at(huge).sha256, "");
  EXPECT_THAT(received_.programs.at(huge).reason, HasSubstr("more than 1024 MiB of it"));
  EXPECT_EQ(received_.programs.at(small).sha256, sha256_hex("exit 0"));
  EXPECT_TRUE(received_.warnings.empty());
}

TEST_F(ProgramDigestsTest, StopEndsDigestReading) {
  const std::string large = write("large", std::string(2 * ProgramDigests::kPieceBytes, 'x'));
  ProgramDigests digests(suites({large}));
  int asked = 0;
  digests.finish(received_, Milliseconds(60'000), [&asked] { return ++asked > 1; });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(received_.programs.at(large).sha256, "");
  EXPECT_THAT(received_.programs.at(large).reason, HasSubstr("the run was stopped"));
}

}  // namespace
}  // namespace proctor
