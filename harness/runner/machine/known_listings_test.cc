#include "harness/runner/machine/known_listings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

class KnownListingsTest : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(program_) << "one"; }

  ListCommand command() const {
    return {.argv = {program_, "--list"}, .env = {{"A", "1"}}, .directory = scratch_.string()};
  }
  // Returns the list that was found, or "ran".
  static std::string found(KnownListings& known, const ListCommand& command,
                           const std::string& backend = "") {
    const auto output = known.find_or(command, backend, [] {
      ListOutput ran;
      ran.exit_code = 0;
      ran.stdout_text = "ran";
      return Result<ListOutput>(ran);
    });
    return output->stdout_text;
  }

  const TempDir scratch_;
  const std::string program_ = scratch_.string() + "/program";
  const std::string file_ = scratch_.string() + "/suite.toml.listings";
};

TEST_F(KnownListingsTest, KeepsListOfUnchangedProgram) {
  ListOutput output;
  output.exit_code = 3;
  output.stdout_text = std::string("bytes \xff\n and \0 more", 18);
  output.file_text = "<xml/>";
  output.stderr_tail = "note";
  output.event_lines = {"{}", "", "{\"a\":1}"};
  KnownListings listed;
  ASSERT_TRUE(listed.find_or(command(), "", [&] { return Result<ListOutput>(output); }));
  ASSERT_TRUE(listed.write(file_));

  KnownListings known = KnownListings::read(file_);
  const auto again = known.find_or(command(), "", []() -> Result<ListOutput> {
    ADD_FAILURE() << "the program was started";
    return Error::internal("list");
  });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->exit_code, 3);
  EXPECT_EQ(again->stdout_text, output.stdout_text);
  EXPECT_EQ(again->file_text, output.file_text);
  EXPECT_EQ(again->stderr_tail, output.stderr_tail);
  EXPECT_EQ(again->event_lines, output.event_lines);

  ListCommand other = command();
  other.env["A"] = "2";
  EXPECT_EQ(found(known, other), "ran");
  other = command();
  other.argv.emplace_back("--more");
  EXPECT_EQ(found(known, other), "ran");
  EXPECT_EQ(found(known, command(), "cuda"), "ran") << "with devices there may be more cases";
  std::ofstream(program_) << "another";
  EXPECT_EQ(found(known, command()), "ran");
}

TEST_F(KnownListingsTest, IgnoresTruncatedFile) {
  KnownListings listed;
  static_cast<void>(found(listed, command()));
  ASSERT_TRUE(listed.write(file_));
  std::ifstream file(file_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t size = 0; size < text.size(); ++size) {
    std::ofstream(file_, std::ios::binary) << text.substr(0, size);
    KnownListings known = KnownListings::read(file_);
    bool ran = false;
    static_cast<void>(known.find_or(command(), "", [&] {
      ran = true;
      return Result<ListOutput>(ListOutput{});
    }));
    EXPECT_TRUE(ran) << size;
  }
}

TEST_F(KnownListingsTest, DoesNotKeepIncompleteList) {
  ListOutput crashed;
  crashed.exit_signal = 11;
  ListOutput without_device;
  without_device.exit_code = 0;
  without_device.no_device = "cuda";
  for (const ListOutput& output : {crashed, without_device}) {
    KnownListings known;
    static_cast<void>(known.find_or(command(), "", [&] { return Result<ListOutput>(output); }));
    EXPECT_EQ(found(known, command()), "ran");
  }
}

}  // namespace
}  // namespace proctor
