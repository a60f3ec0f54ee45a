// Stores the output of a case: one log with both streams in order, and the last 64 KiB of each stream in
// memory. CaseOutput writes to it.
//
// Log format, one entry per line of output:
//
//      0.001234 out| a full line
//      0.001301 err\ a piece that has no newline
//
// The entry has the seconds since the start, the stream, `|` (a newline followed) or `\` (no newline), one
// blank and the bytes. A line written in pieces is one entry with the time of its first byte, unless output
// of the other stream comes between. The first 4 MiB and at least the last 4 MiB of output are kept. The log
// marks the gap with its size. If the log cannot be written to disk, it is marked as lost and the case does
// not fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "harness/base/clock.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/events.h"
#include "harness/process/process_spec.h"

namespace proctor {

inline constexpr std::size_t kTailBytes = 64 * 1024;
inline constexpr std::uint64_t kLogPartBytes = 4 * 1024 * 1024;

// Keeps the last `capacity` bytes of a stream.
class TailRing {
 public:
  explicit TailRing(std::size_t capacity) : capacity_(capacity) {}
  void append(std::string_view bytes);
  std::string text() const;

 private:
  std::size_t capacity_;
  std::string ring_;
  std::size_t next_ = 0;
};

// Writes the log of one case and keeps the tails of its streams.
class Capture {
 public:
  // An empty `path` means that no log is written to disk. `part` is a parameter for tests.
  Capture(std::string path, Clock::time_point start, std::uint64_t part = kLogPartBytes);

  void append(Stream stream, std::string_view bytes, Clock::time_point now);

  // Joins head, mark and tail into one file. Call this once.
  OutputInfo finish();

 private:
  // A file of at most `part` bytes of output. Two of them hold the tail; a third replaces the older one.
  struct Segment {
    UniqueFd fd;
    std::uint64_t bytes = 0;
  };

  // The last entry of the log, whose line can continue.
  struct OpenLine {
    int fd = -1;  // file that ends with this entry; -1: none
    Stream stream = Stream::kOut;
    off_t mark = 0;  // offset of its `\`
  };

  void write_log(Stream stream, std::string_view bytes, Clock::time_point now);
  std::size_t continue_line(int fd, Stream stream, std::string_view bytes);
  int current_fd();
  void rotate();
  void write_all(int fd, std::string_view bytes);
  void append_segment(Segment& segment);

  std::string path_;
  Clock::time_point start_;
  std::uint64_t part_;
  OutputInfo info_;
  TailRing out_tail_{kTailBytes};
  TailRing err_tail_{kTailBytes};
  Segment head_;
  Segment older_;
  Segment newer_;
  OpenLine open_line_;
  std::string formatted_;
};

// Splits a byte stream into lines of limited length. A longer line is truncated, delivered and counted.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  void feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line);
  // Delivers the last line if it has no newline.
  void finish(const std::function<void(std::string_view)>& on_line);
  // The bytes of a line that has not ended yet.
  std::string_view partial() const { return partial_; }
  std::uint64_t too_long() const { return too_long_; }

 private:
  void append(std::string_view bytes);

  std::size_t max_line_;
  std::string partial_;
  bool truncated_ = false;
  std::uint64_t too_long_ = 0;
};

}  // namespace proctor
