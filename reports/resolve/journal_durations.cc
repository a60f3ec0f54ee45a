#include "reports/resolve/journal_durations.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <variant>

#include "harness/base/unique_fd.h"
#include "harness/journal/events.h"

namespace proctor {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;
constexpr std::size_t kLongestHead = 16'384;  // an id has no more
constexpr std::size_t kTypeIsWithin = 64;
constexpr std::string_view kType = R"("type":"attempt_ended",)";
constexpr std::string_view kRest = R"(,"exit_code":)";

struct EndedAttempt {
  std::string case_id{};
  std::int64_t duration_ms = -1;
  Outcome outcome = Outcome::kNotrun;
};

// Takes the text up to `end` from `rest`, and `end` too. None: it is not there.
std::optional<std::string_view> take_until(std::string_view end, std::string_view& rest) {
  const std::size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + end.size());
  return taken;
}

// Of a head as to_json_line() writes it, for an id without escapes: a parser takes ten times as long.
std::optional<EndedAttempt> read_plain_head(std::string_view head) {
  if (!take_until(R"("type":"attempt_ended","case":")", head)) return std::nullopt;
  const auto id = take_until(R"(",)", head);
  if (!id || id->find_first_of("\\\"") != std::string_view::npos) return std::nullopt;
  if (!take_until(R"("duration_ms":)", head)) return std::nullopt;
  EndedAttempt ended{.case_id = std::string(*id)};
  const auto number = std::from_chars(head.data(), head.data() + head.size(), ended.duration_ms);
  head.remove_prefix(static_cast<std::size_t>(number.ptr - head.data()));
  if (number.ec != std::errc() || !head.starts_with(R"(,"verdict":{"outcome":")")) return std::nullopt;
  take_until(R"(":{"outcome":")", head);
  const auto outcome = take_until(R"(",)", head);
  const auto known = outcome ? parse_outcome(*outcome) : std::nullopt;
  if (!known) return std::nullopt;
  ended.outcome = *known;
  return ended;
}

std::optional<EndedAttempt> read_head(std::string_view head) {
  if (auto plain = read_plain_head(head)) return plain;
  const auto event = parse_json_line(std::string(head) + "}");
  if (!event || !*event) return std::nullopt;
  const auto* ended = std::get_if<AttemptEnded>(&**event);
  if (ended == nullptr) return std::nullopt;
  return EndedAttempt{ended->case_id, ended->duration_ms, ended->verdict.outcome};
}

// Most of a record is output and telemetry. Its head, up to the verdict, is a record, too.
void add_attempt(std::string_view line, std::map<std::string, double>& durations) {
  if (line.substr(0, kTypeIsWithin).find(kType) == std::string_view::npos) return;
  const std::size_t rest = line.substr(0, kLongestHead).find(kRest);
  if (rest == std::string_view::npos) return;
  const auto ended = read_head(line.substr(0, rest));
  if (!ended || ended->case_id.empty() || ended->duration_ms < 0) return;
  if (ended->outcome == Outcome::kSkip || ended->outcome == Outcome::kNotrun) return;
  durations[ended->case_id] += static_cast<double>(ended->duration_ms);
}

}  // namespace

std::map<std::string, double> journal_durations(const std::string& path, ReadingLimit& limit) {
  std::map<std::string, double> durations;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return durations;
  std::string piece(kReadAtOnce, '\0');
  std::string begun;  // of a line that goes on in the next piece, no more than its head
  do {
    const ssize_t count = ::read(file.get(), piece.data(), std::min(limit.bytes, piece.size()));
    if (count <= 0) break;
    std::string_view rest(piece.data(), static_cast<std::size_t>(count));
    limit.bytes -= rest.size();
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end);
      add_attempt(begun.empty() ? line : begun.append(line.substr(0, kLongestHead)), durations);
      begun.clear();
      rest.remove_prefix(end + 1);
    }
    if (begun.size() < kLongestHead) begun.append(rest.substr(0, kLongestHead));
  } while (limit.bytes > 0 && std::chrono::steady_clock::now() < limit.until);
  return durations;
}

}  // namespace proctor
