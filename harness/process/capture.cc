#include "harness/process/capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/regular_file.h"

namespace proctor {

void TailRing::append(std::string_view bytes) {
  if (bytes.size() >= capacity_) {
    ring_.assign(bytes.substr(bytes.size() - capacity_));
    next_ = 0;
    return;
  }
  const std::size_t grow = std::min(bytes.size(), capacity_ - ring_.size());
  ring_.append(bytes.substr(0, grow));
  bytes.remove_prefix(grow);
  while (!bytes.empty()) {
    const std::size_t take = std::min(bytes.size(), capacity_ - next_);
    ring_.replace(next_, take, bytes.substr(0, take));
    next_ = (next_ + take) % capacity_;
    bytes.remove_prefix(take);
  }
}

std::string TailRing::text() const { return ring_.substr(next_) + ring_.substr(0, next_); }

Capture::Capture(std::string path, Clock::time_point start, std::uint64_t part)
    : path_(std::move(path)), start_(start), part_(part) {
  info_.log = path_;
}

void Capture::append(Stream stream, std::string_view bytes, Clock::time_point now) {
  info_.bytes += bytes.size();
  (stream == Stream::kOut ? out_tail_ : err_tail_).append(bytes);
  if (!path_.empty()) write_log(stream, bytes, now);
}

void Capture::write_log(Stream stream, std::string_view bytes, Clock::time_point now) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now - start_).count();
  const std::string stamp = fmt::format("{:6}.{:06} {}", microseconds / 1'000'000, microseconds % 1'000'000,
                                        stream == Stream::kOut ? "out" : "err");
  formatted_.clear();
  const int fd = current_fd();
  (newer_.fd ? newer_ : head_).bytes += bytes.size();
  if (fd < 0) return;
  bytes.remove_prefix(continue_line(fd, stream, bytes));
  std::size_t last_entry = 0;
  bool open = false;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    open = newline == std::string_view::npos;
    last_entry = formatted_.size();
    formatted_.append(stamp).append(open ? "\\ " : "| ").append(bytes.substr(0, newline)).push_back('\n');
    bytes.remove_prefix(open ? bytes.size() : newline + 1);
  }
  if (formatted_.empty()) return;
  write_all(fd, formatted_);
  open_line_.fd = -1;
  if (!open || info_.write_failed) return;
  const off_t after = static_cast<off_t>(formatted_.size() - last_entry - stamp.size());
  open_line_ = {.fd = fd, .stream = stream, .mark = lseek(fd, 0, SEEK_CUR) - after};
}

// Appends bytes to the last line of the log, in the file itself, and returns their number. No output waits in
// memory for its newline, so a killed runner loses none.
std::size_t Capture::continue_line(int fd, Stream stream, std::string_view bytes) {
  if (open_line_.fd != fd || open_line_.stream != stream || bytes.empty()) return 0;
  const std::size_t newline = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, newline);
  if (lseek(fd, -1, SEEK_CUR) < 0) return 0;
  write_all(fd, std::string(piece) + '\n');
  if (newline == std::string_view::npos) return bytes.size();
  if (pwrite(fd, "|", 1, open_line_.mark) != 1) info_.write_failed = true;
  open_line_.fd = -1;
  return newline + 1;
}

int Capture::current_fd() {
  if (!head_.fd && !info_.write_failed) {
    auto created = create_file(path_, 0644);
    if (created) head_.fd = *std::move(created);
    if (!head_.fd) info_.write_failed = true;
  }
  const Segment& segment = newer_.fd ? newer_ : head_;
  if (segment.bytes >= part_) rotate();
  return newer_.fd ? newer_.fd.get() : head_.fd.get();
}

// The spill files have no name, so a killed runner leaves only the head of the log.
void Capture::rotate() {
  const std::string directory = path_.substr(0, path_.find_last_of('/') + 1);
  UniqueFd fresh(open(directory.empty() ? "." : directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fresh) {
    const std::string name = path_ + ".tail";
    unlink(name.c_str());
    fresh = UniqueFd(open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    unlink(name.c_str());
  }
  if (!fresh) {
    info_.write_failed = true;
    return;
  }
  open_line_.fd = -1;  // another file can get this descriptor number soon
  info_.dropped_bytes += older_.bytes;
  older_ = std::move(newer_);
  newer_ = Segment{std::move(fresh), 0};
}

void Capture::write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      info_.write_failed = true;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void Capture::append_segment(Segment& segment) {
  if (!segment.fd) return;
  lseek(segment.fd.get(), 0, SEEK_SET);
  std::string buffer(256 * 1024, '\0');
  for (;;) {
    const ssize_t got = read(segment.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    write_all(head_.fd.get(), std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
}

OutputInfo Capture::finish() {
  if (head_.fd) {
    if (info_.dropped_bytes > 0) {
      write_all(head_.fd.get(),
                fmt::format("-------- {} bytes of output dropped here --------\n", info_.dropped_bytes));
    }
    append_segment(older_);
    append_segment(newer_);
  } else if (!path_.empty() && !info_.write_failed) {
    info_.log.clear();  // the case printed nothing, so no file exists
  }
  info_.stdout_tail = out_tail_.text();
  info_.stderr_tail = err_tail_.text();
  return info_;
}

void LineSplitter::append(std::string_view bytes) {
  const std::size_t room = max_line_ - partial_.size();
  if (bytes.size() > room && !truncated_) {
    truncated_ = true;
    ++too_long_;
  }
  partial_.append(bytes.substr(0, room));
}

void LineSplitter::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    append(bytes.substr(0, newline));
    if (newline == std::string_view::npos) return;
    on_line(partial_);
    partial_.clear();
    truncated_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::finish(const std::function<void(std::string_view)>& on_line) {
  if (!partial_.empty()) on_line(partial_);
  partial_.clear();
}

}  // namespace proctor
