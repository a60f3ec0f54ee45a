#include "reports/resolve/log_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "harness/base/unique_fd.h"
#include "harness/journal/event_words.h"

namespace proctor {
namespace {

constexpr std::size_t kLeastRead = 256 * 1024;  // the minimum that is read from the end of a log

// One entry of a log.
struct Entry {
  int stream = 0;
  bool complete = false;  // the line ended
  std::string_view bytes;
};

// Parses "     0.001234 out| a full line".
std::optional<Entry> parse_entry(std::string_view line) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t at = std::min(line.find_first_not_of(' '), line.size());
  const auto skip_digits = [&] {
    const std::size_t from = at;
    while (at < line.size() && is_digit(line[at])) ++at;
    return at > from;
  };
  if (!skip_digits() || line.substr(at, 1) != ".") return {};
  ++at;
  if (!skip_digits()) return {};
  const std::string_view rest = line.substr(at);
  const bool out = rest.starts_with(" out");
  if ((!out && !rest.starts_with(" err")) || rest.size() < 6 || rest[5] != ' ') return {};
  if (rest[4] != '|' && rest[4] != '\\') return {};
  return Entry{.stream = out ? 0 : 1, .complete = rest[4] == '|', .bytes = rest.substr(6)};
}

}  // namespace

std::vector<std::string> LogReader::add(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    const auto entry = parse_entry(line);
    if (!entry) {
      if (line != kNoOutputMark) lines.emplace_back(line);
      continue;
    }
    std::string& open = open_[entry->stream];
    open.append(entry->bytes);
    if (!entry->complete) continue;
    lines.push_back(std::move(open));
    open.clear();
  }
  return lines;
}

std::vector<std::string> LogReader::finish() {
  std::vector<std::string> lines;
  for (std::string& open : open_) {
    if (!open.empty()) lines.push_back(std::move(open));
    open.clear();
  }
  return lines;
}

LastLines last_lines_of(std::vector<std::string> all, std::size_t lines, std::size_t bytes) {
  LastLines last;
  std::size_t used = 0;
  std::size_t first = all.size();
  while (first > 0 && all.size() - first < lines && used + all[first - 1].size() <= bytes)
    used += all[--first].size();
  last.is_all = first == 0;
  if (first == all.size() && first > 0) {
    last.lines.push_back("…" + all.back().substr(all.back().size() - bytes));
    return last;
  }
  last.lines.assign(std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(first)),
                    std::make_move_iterator(all.end()));
  return last;
}

bool is_below_run_directory(const std::string& file) {
  if (file.empty() || file.front() == '/') return false;
  return ("/" + file + "/").find("/../") == std::string::npos;
}

namespace {

UniqueFd open_log(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// Returns nothing if it is not a regular file.
std::optional<std::size_t> size_of(const UniqueFd& log) {
  struct stat status {};
  if (!log || ::fstat(log.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

std::string read_from(const UniqueFd& log, std::size_t from, std::size_t size) {
  std::string text(size - from, '\0');
  const ssize_t got = ::pread(log.get(), text.data(), text.size(), static_cast<off_t>(from));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

LastLines last_lines_of_log(const std::string& path, std::size_t lines, std::size_t bytes) {
  return last_lines_of_log(open_log(path), lines, bytes);
}

LastLines last_lines_of_log(const UniqueFd& log, std::size_t lines, std::size_t bytes) {
  const auto size = size_of(log);
  if (!size) return {};
  const std::size_t most = std::max(kLeastRead, 2 * bytes);  // each line has a stamp before it
  const std::size_t from = *size > most ? *size - most : 0;
  std::string text = read_from(log, from, *size);
  const std::size_t first_end = text.find('\n');
  if (from > 0 && first_end + 1 < text.size()) text.erase(0, first_end + 1);  // the first line is incomplete
  LogReader reader;
  std::vector<std::string> all = reader.add(text);
  for (std::string& open : reader.finish()) all.push_back(std::move(open));
  LastLines last = last_lines_of(std::move(all), lines, bytes);
  last.is_all = last.is_all && from == 0;
  return last;
}

LastLines lines_of_log(const std::string& path, std::uint64_t& from, std::size_t bytes) {
  const UniqueFd log = open_log(path);
  const auto size = size_of(log);
  if (!size || *size <= from) return {};
  const std::size_t begin = std::max<std::size_t>(from, *size > bytes ? *size - bytes : 0);
  const std::string text = read_from(log, begin, *size);
  if (text == "\n") return {};  // the line has not ended yet
  LogReader reader;
  LastLines last{.lines = reader.add(std::string_view(text).substr(text.starts_with('\n') ? 1 : 0)),
                 .is_all = begin == from};
  // An incomplete line may continue in place of the last newline of the log.
  from = begin + text.size();
  for (std::string& open : reader.finish()) {
    last.lines.push_back(std::move(open));
    from = begin + text.size() - 1;
  }
  return last;
}

}  // namespace proctor
