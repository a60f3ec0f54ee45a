#include "harness/process/capture.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <random>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

class CaptureTest : public testing::Test {
 protected:
  std::string log_path() const { return directory_ + "/case.log"; }
  std::string log() const { return read_file_or_empty(log_path()); }
  static Clock::time_point at(int milliseconds) { return Clock::time_point{} + Milliseconds(milliseconds); }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();

 private:
  using Milliseconds = std::chrono::milliseconds;
};

// Extracts the exact bytes of one stream from a log.
std::string stream_bytes(const std::string& log, const std::string& tag) {
  std::istringstream lines(log);
  std::string line;
  std::string bytes;
  while (std::getline(lines, line)) {
    if (line.substr(14, 3) != tag) continue;
    bytes += line.substr(19);
    if (line[17] == '|') bytes += '\n';
  }
  return bytes;
}

TEST_F(CaptureTest, LogShowsOrderStreamAndTime) {
  Capture capture(log_path(), at(0));
  capture.append(Stream::kOut, "one\ntwo", at(1));
  capture.append(Stream::kErr, "bad\n", at(2));
  capture.append(Stream::kOut, " more\n", at(1003));
  capture.finish();
  EXPECT_EQ(log(),
            "     0.001000 out| one\n"
            "     0.001000 out\\ two\n"
            "     0.002000 err| bad\n"
            "     1.003000 out|  more\n");
}

TEST_F(CaptureTest, JoinsPiecesIntoOneLine) {
  Capture capture(log_path(), at(0));
  capture.append(Stream::kOut, "loss", at(1));
  capture.append(Stream::kOut, " ", at(2));
  EXPECT_EQ(log(), "     0.001000 out\\ loss \n");  // no byte waits in memory
  capture.append(Stream::kOut, "0.5\nnext", at(3));
  capture.append(Stream::kOut, "\n", at(4));
  capture.append(Stream::kOut, "\n", at(5));
  capture.append(Stream::kErr, "bad\n", at(6));
  capture.append(Stream::kOut, "open", at(7));
  capture.finish();
  EXPECT_EQ(log(),
            "     0.001000 out| loss 0.5\n"
            "     0.003000 out| next\n"
            "     0.005000 out| \n"
            "     0.006000 err| bad\n"
            "     0.007000 out\\ open\n");
}

TEST_F(CaptureTest, PiecesOfAnySizeRoundTrip) {
  std::mt19937 random(1);
  Capture capture(log_path(), at(0), /*part=*/4000);
  std::string out;
  std::string err;
  for (int i = 0; i < 400; ++i) {
    std::string piece(random() % 9, 'a');
    for (char& c : piece) c = random() % 4 == 0 ? '\n' : static_cast<char>('a' + random() % 26);
    const bool is_out = random() % 5 != 0;
    (is_out ? out : err) += piece;
    capture.append(is_out ? Stream::kOut : Stream::kErr, piece, at(i));
  }
  EXPECT_EQ(capture.finish().dropped_bytes, 0u);
  EXPECT_EQ(stream_bytes(log(), "out"), out);
  EXPECT_EQ(stream_bytes(log(), "err"), err);
}

TEST_F(CaptureTest, EveryByteRoundTrips) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  Capture capture(log_path(), at(0));
  capture.append(Stream::kOut, all, at(1));
  capture.append(Stream::kErr, "noise\n", at(1));
  capture.append(Stream::kOut, all, at(2));
  const OutputInfo info = capture.finish();
  EXPECT_EQ(stream_bytes(log(), "out"), all + all);
  EXPECT_EQ(info.bytes, 2 * all.size() + 6);
  EXPECT_EQ(info.stdout_tail, all + all);
}

TEST_F(CaptureTest, KeepsHeadAndTailOfLongOutput) {
  constexpr std::uint64_t kPart = 1000;
  Capture capture(log_path(), at(0), kPart);
  std::string everything;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    everything += line;
    capture.append(Stream::kOut, line, at(i));
  }
  const OutputInfo info = capture.finish();
  const std::string kept = stream_bytes(log(), "out");
  const std::size_t mark = log().find("bytes of output dropped here");
  ASSERT_NE(mark, std::string::npos);
  EXPECT_EQ(kept.size() + info.dropped_bytes, everything.size());
  EXPECT_EQ(kept.substr(0, kPart), everything.substr(0, kPart));
  EXPECT_EQ(kept.substr(kept.size() - kPart), everything.substr(everything.size() - kPart));
  EXPECT_LE(kept.size(), 4 * kPart);
  EXPECT_FALSE(info.write_failed);
}

TEST_F(CaptureTest, EmptyOutputCreatesNoFile) {
  Capture capture(log_path(), at(0));
  EXPECT_EQ(capture.finish().log, "");
  EXPECT_FALSE(std::filesystem::exists(log_path()));
}

// A case can create a FIFO or a link at the path of the log before the log is opened.
TEST_F(CaptureTest, ReplacesFifoOrLinkAtPath) {
  const std::string elsewhere = directory_ + "/elsewhere";
  for (const auto& plant :
       {std::function<void()>([&] { ::mkfifo(log_path().c_str(), 0600); }),
        std::function<void()>([&] { std::filesystem::create_symlink(elsewhere, log_path()); })}) {
    std::filesystem::remove(log_path());
    plant();
    Capture capture(log_path(), at(0));
    capture.append(Stream::kOut, "said\n", at(1));
    EXPECT_FALSE(capture.finish().write_failed);
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(log_path())));
    EXPECT_EQ(stream_bytes(log(), "out"), "said\n");
  }
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST(Capture, FullDiskLosesLogOnly) {
  Capture capture("/dev/full", Clock::time_point{});
  capture.append(Stream::kOut, "text\n", Clock::time_point{});
  const OutputInfo info = capture.finish();
  EXPECT_TRUE(info.write_failed);
  EXPECT_EQ(info.stdout_tail, "text\n");
}

TEST(TailRing, HoldsTheLastBytes) {
  for (std::size_t chunk = 1; chunk < 30; ++chunk) {
    TailRing ring(10);
    std::string all;
    for (char c = 'a'; c < 'z'; ++c) {
      const std::string piece(chunk, c);
      all += piece;
      ring.append(piece);
      EXPECT_EQ(ring.text(), all.substr(all.size() - std::min<std::size_t>(all.size(), 10)));
    }
  }
}

}  // namespace
}  // namespace proctor
