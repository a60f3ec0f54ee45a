// What a case printed: one log with both streams in order, and the last 64 KiB of each stream in memory.
//
// Log format, one entry per line of output, readable as it is and exact when taken apart:
//
//      0.001234 out| a full line
//      0.001301 err\ a piece without a newline at its end
//
// seconds since the start, stream, `|` (a newline followed) or `\` (none did), one blank, the bytes
// themselves. What a program writes in pieces is one entry, with the time of its first byte, unless the other stream
// comes between. The first and at least the last 4 MiB of output are kept; what lies between is counted, and the
// log says where. A log that cannot be written to disk never fails the case: it is marked as lost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/core/clock.h"
#include "harness/core/events.h"
#include "harness/core/unique_fd.h"
#include "harness/process/process_spec.h"

namespace proctor {

inline constexpr std::size_t kTailBytes = 64 * 1024;
inline constexpr std::uint64_t kLogPartBytes = 4 * 1024 * 1024;

// The last `capacity` bytes of a stream.
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

class Capture {
 public:
  // `path` empty: nothing goes to disk. `part` is a parameter for tests.
  Capture(std::string path, Clock::time_point start, std::uint64_t part = kLogPartBytes);

  void append(Stream stream, std::string_view bytes, Clock::time_point now);

  // Joins head, mark and tail into one file. Call once.
  OutputInfo finish();

 private:
  // A spill file of at most `part` bytes of output. Two of them hold the tail; the older one is dropped.
  struct Segment {
    UniqueFd fd;
    std::uint64_t bytes = 0;
  };

  // An entry at the end of the log whose line may go on.
  struct OpenLine {
    int fd = -1;  // of the file that ends with it; -1: there is none
    Stream stream = Stream::kOut;
    off_t mark = 0;  // where its `\` stands
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

}  // namespace proctor
