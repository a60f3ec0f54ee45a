#include "harness/process/evidence/kernel_log.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "harness/base/clock.h"

namespace proctor {
namespace {

constexpr const char* kDevice = "/dev/kmsg";
constexpr auto kPollLimit = std::chrono::milliseconds(20);
constexpr std::size_t kMaxRecord = 8192;  // CONSOLE_EXT_LOG_MAX of the kernel
constexpr std::size_t kMaxLine = 8192;

struct Record {
  std::uint64_t sequence = 0;
  bool of_kernel = false;
  KernelLine line;
};

template <typename T>
bool take_number(std::string_view& text, T& number, char end) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto taken = static_cast<std::size_t>(rest - text.data());
  if (error != std::errc() || taken >= text.size() || text[taken] != end) return false;
  text.remove_prefix(taken + 1);
  return true;
}

// Decodes `\x0a` and similar escapes, with which the kernel writes unprintable characters.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
        std::from_chars(text.data() + i + 2, text.data() + i + 4, value, 16).ptr == text.data() + i + 4) {
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

void take_key(std::string_view line, KernelLine& out) {
  constexpr std::string_view kPci = " DEVICE=+pci:";
  if (line.starts_with(kPci)) out.device = line.substr(kPci.size());
}

std::optional<Record> parse_record(std::string_view text) {
  constexpr unsigned kLevelBits = 3;
  Record record;
  unsigned prefix = 0;
  if (!take_number(text, prefix, ',') || !take_number(text, record.sequence, ',') ||
      !take_number(text, record.line.time_us, ','))
    return std::nullopt;
  const auto begin = text.find(';');
  if (begin == text.npos) return std::nullopt;
  text.remove_prefix(begin + 1);
  record.of_kernel = prefix >> kLevelBits == 0;
  record.line.level = static_cast<int>(prefix & 7U);
  const auto end = std::min(text.find('\n'), text.size());
  record.line.text = unescaped(text.substr(0, end));
  text.remove_prefix(end);
  while (!text.empty()) {
    text.remove_prefix(1);
    const auto next = std::min(text.find('\n'), text.size());
    take_key(text.substr(0, next), record.line);
    text.remove_prefix(next);
  }
  return record;
}

// Parses "[   12.345678] text", the format of dmesg, or plain text.
KernelLine parse_plain(std::string_view text) {
  KernelLine line;
  const auto close = text.find("] ");
  if (text.starts_with('[') && close != text.npos) {
    const auto digits = text.find_first_not_of(' ', 1);
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + close, seconds);
    if (error == std::errc() && end == text.data() + close) {
      line.time_us = std::llround(seconds * 1e6);
      text.remove_prefix(close + 2);
    }
  }
  line.text = text;
  return line;
}

std::chrono::nanoseconds own_cpu_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

std::optional<KernelLine> parse_kmsg(std::string_view record) {
  auto parsed = parse_record(record);
  if (!parsed || !parsed->of_kernel) return std::nullopt;
  return std::move(parsed->line);
}

std::string how_to_read_kernel_log(const std::string& path, int error) {
  const std::string what = "the kernel log cannot be read (" + path + ": " + std::strerror(error) + "); ";
  if (path != kDevice) return what + kKernelLogVariable + " names it";
  if (error == ENOENT) return what + "in a container: docker run --device /dev/kmsg --cap-add SYSLOG";
  return what +
         "run as root, or sudo sysctl kernel.dmesg_restrict=0; in a container: docker run --device /dev/kmsg "
         "--cap-add SYSLOG";
}

KernelLog KernelLog::from_environment() {
  const char* file = std::getenv(kKernelLogVariable);
  return KernelLog(file ? file : "");
}

KernelLog::KernelLog(const std::string& stand_in) : stand_in_(!stand_in.empty()) {
  const std::string path = stand_in_ ? stand_in : kDevice;
  fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd_ || ::lseek(fd_.get(), 0, SEEK_END) < 0) {
    problem_ = how_to_read_kernel_log(path, errno);
    fd_ = UniqueFd();
  }
}

KernelLog::Position KernelLog::position() {
  read_new_lines();
  return first_ + lines_.size();
}

KernelLog::Lines KernelLog::since(Position position) {
  read_new_lines();
  Lines found;
  found.end = first_ + lines_.size();
  if (position < first_) found.lost = first_ - position;
  for (Position at = std::max(position, first_); at < found.end; ++at)
    found.lines.push_back(lines_[at - first_]);
  return found;
}

void KernelLog::read_new_lines() {
  if (!fd_) return;
  // The limit is the CPU time of this thread, so that a busy machine loses no lines.
  const auto end = own_cpu_time() + kPollLimit;
  while ((stand_in_ ? read_file_part() : read_record()) && own_cpu_time() < end) {
  }
}

bool KernelLog::read_record() {
  std::array<char, kMaxRecord> buffer;
  const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
  // EPIPE: the oldest unread records were overwritten. The sequence number shows how many.
  if (got < 0) return errno == EPIPE || errno == EINTR;
  const auto record = parse_record({buffer.data(), static_cast<std::size_t>(got)});
  if (!record) return got > 0;
  if (sequence_ && record->sequence > *sequence_ + 1) {  // lost records count like dropped ones
    const std::uint64_t missing = record->sequence - *sequence_ - 1;
    first_ += lines_.size() + missing;
    lines_.clear();
  }
  sequence_ = record->sequence;
  if (record->of_kernel) keep(record->line);
  return true;
}

bool KernelLog::read_file_part() {
  constexpr std::size_t kPiece = 65536;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  const ssize_t got = ::read(fd_.get(), buffer.get(), kPiece);
  if (got <= 0) return got < 0 && errno == EINTR;
  rest_.append(buffer.get(), static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', begin)) {
    take_text(std::string_view(rest_).substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() > kMaxLine) rest_.resize(kMaxLine);
  return true;
}

void KernelLog::take_text(std::string_view line) {
  if (line.starts_with(' ') && line.find('=') != line.npos) {
    if (!lines_.empty()) take_key(line, lines_.back());
    return;
  }
  const auto record = parse_record(line);
  if (record && !record->of_kernel) return;
  keep(record ? record->line : parse_plain(line));
}

void KernelLog::keep(KernelLine line) {
  lines_.push_back(std::move(line));
  if (lines_.size() <= kMaxLines) return;
  lines_.pop_front();
  ++first_;
}

}  // namespace proctor
