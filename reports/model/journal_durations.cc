#include "reports/model/journal_durations.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "harness/core/events.h"
#include "harness/core/unique_fd.h"

namespace proctor {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;
constexpr std::size_t kLongestHead = 16'384;  // an id has no more
constexpr std::size_t kTypeIsWithin = 64;
constexpr std::string_view kType = R"("type":"attempt_ended",)";
constexpr std::string_view kRest = R"(,"exit_code":)";

// Most of a record is output and telemetry. Its head, up to the verdict, is a record, too.
void add_attempt(std::string_view line, std::map<std::string, double>& durations) {
  if (line.substr(0, kTypeIsWithin).find(kType) == std::string_view::npos) return;
  const std::size_t rest = line.substr(0, kLongestHead).find(kRest);
  if (rest == std::string_view::npos) return;
  const auto event = parse_json_line(std::string(line.substr(0, rest)) + "}");
  if (!event || !*event) return;
  const auto* ended = std::get_if<AttemptEnded>(&**event);
  if (ended == nullptr || ended->case_id.empty() || ended->duration_ms < 0) return;
  const Outcome outcome = ended->verdict.outcome;
  if (outcome == Outcome::kSkip || outcome == Outcome::kNotrun) return;
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
