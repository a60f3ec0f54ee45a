#include "harness/journal/journal_chain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

constexpr std::string_view kSumKey = ",\"sum\":\"";
constexpr std::string_view kSumEnd = "\"}";
constexpr std::size_t kSumDigits = 32;
constexpr std::size_t kTail = kSumDigits + kSumEnd.size();

// Adds up to `count` bytes of the file. Returns false if the file ends earlier.
bool add_bytes(int fd, std::uint64_t count, JournalChain& chain) {
  constexpr std::size_t kPiece = 64 * 1024;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  while (count > 0) {
    const ssize_t got = ::read(fd, buffer.get(), std::min<std::uint64_t>(count, kPiece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    chain.add({buffer.get(), static_cast<std::size_t>(got)});
    count -= static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

std::string JournalChain::append(std::string_view record) {
  std::string line(record.substr(0, record.size() - 1));  // without its closing brace
  line += kSumKey;
  add(line);
  std::string end = digest_.hex().substr(0, kSumDigits);
  end += kSumEnd;
  end += '\n';
  add(end);
  return line + end;
}

bool JournalChain::follow(std::string_view line) {
  const bool whole = line.ends_with('\n');
  const std::string_view record = line.substr(0, line.size() - (whole ? 1 : 0));
  if (!has_sum(record)) {
    add(line);
    return false;
  }
  add(record.substr(0, record.size() - kTail));
  const bool fits = digest_.hex().substr(0, kSumDigits) == record.substr(record.size() - kTail, kSumDigits);
  add(line.substr(record.size() - kTail));
  return fits;
}

void JournalChain::add(std::string_view bytes) {
  digest_.add(bytes);
  bytes_ += bytes.size();
}

bool has_sum(std::string_view line) {
  return line.size() > kTail + kSumKey.size() && line.ends_with(kSumEnd) &&
         line.substr(line.size() - kTail - kSumKey.size(), kSumKey.size()) == kSumKey;
}

std::string difference(const std::string& path, const JournalSeal& seal) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) {
    return errno == ELOOP ? "it is a link" : fmt::format("it cannot be read: {}", std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return "it is not a regular file";
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes < seal.before.bytes) {
    return fmt::format("it lacks {} of the {} bytes that its runner wrote", seal.before.bytes - bytes,
                       seal.before.bytes);
  }
  if (bytes > seal.after.bytes)
    return fmt::format("it has {} bytes more than its runner wrote", bytes - seal.after.bytes);
  JournalChain chain;
  if (!add_bytes(file.get(), seal.before.bytes, chain) || chain.state().digest != seal.before.digest)
    return "its bytes are others than its runner wrote";
  if (bytes < seal.after.bytes) return "";
  if (!add_bytes(file.get(), bytes - seal.before.bytes, chain) || chain.state().digest != seal.after.digest)
    return "its last record is another one than its runner wrote";
  return "";
}

}  // namespace proctor
