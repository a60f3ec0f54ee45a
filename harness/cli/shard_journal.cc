#include "harness/cli/shard_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "harness/core/unique_fd.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kJournalPiece = std::size_t{1} << 20;

std::string journal_file(const std::string& directory) { return directory + "/journal.jsonl"; }

bool exists_at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::uint64_t bytes_in(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size)
                                                                  : 0;
}

// What stands behind `offset`.
std::string text_behind(const std::string& file, std::uint64_t offset) {
  if (bytes_in(file) <= offset) return {};
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::string piece(kJournalPiece, '\0');
  while (fd) {
    const ssize_t got =
        ::pread(fd.get(), piece.data(), piece.size(), static_cast<off_t>(offset + text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

ShardJournal::ShardJournal(std::string parent, int index) : parent_(std::move(parent)), index_(index) {}

std::string ShardJournal::directory(int number) const {
  const std::string name = fmt::format("shard-{}", index_);
  return number == 1 ? name : fmt::format("{}.{}", name, number);
}

void ShardJournal::read(std::int64_t now_ms, const OnEvent& on_event) {
  find_newest(on_event);
  if (number_ == 0) return;
  const std::string text = text_behind(journal_file(parent_ + "/" + directory(number_)), offset_);
  offset_ += text.size();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    open_line_ += rest.substr(0, end);
    if (end == rest.npos) return;
    rest.remove_prefix(end + 1);
    take(std::exchange(open_line_, {}), now_ms, on_event);
  }
}

void ShardJournal::find_newest(const OnEvent& on_event) {
  for (int number = number_ + 1; exists_at(parent_ + "/" + directory(number)); ++number) {
    if (bytes_in(journal_file(parent_ + "/" + directory(number))) == 0) continue;
    end_running(on_event);
    number_ = number;
    offset_ = 0;
    open_line_.clear();
    has_ended_ = false;
  }
}

// What runs when its runner is killed has no end in the journal.
void ShardJournal::end_running(const OnEvent& on_event) {
  for (const std::string& id : std::exchange(running_, {})) {
    AttemptEnded ended;
    ended.case_id = id;
    ended.verdict = {Outcome::kNotrun, Reason::kInterrupted};
    on_event(ended);
  }
}

void ShardJournal::take(std::string_view line, std::int64_t now_ms, const OnEvent& on_event) {
  auto event = parse_json_line(line);
  if (event && *event)
    take(**std::move(event), now_ms, on_event);  // of any other line the merged report tells
}

void ShardJournal::take(Event event, std::int64_t now_ms, const OnEvent& on_event) {
  if (const auto* planned = std::get_if<RunPlanned>(&event)) {
    directories_.push_back(directory(number_));
    if (std::exchange(has_plan_, true)) return;  // of the rest: what was left before
    for (const PlannedCase& test : planned->cases) left_.insert(test.id);
  } else if (auto* started = std::get_if<AttemptStarted>(&event)) {
    running_.insert(started->case_id);
    started->at_ms = now_ms;
    if (!started->log.empty()) started->log = directory(number_) + "/" + started->log;
    on_event(event);
  } else if (const auto* attempt = std::get_if<AttemptEnded>(&event)) {
    running_.erase(attempt->case_id);
    on_event(event);
  } else if (const auto* ended = std::get_if<CaseEnded>(&event)) {
    if (ended->verdict.outcome != Outcome::kNotrun && left_.erase(ended->case_id) > 0) on_event(event);
  } else if (auto* warning = std::get_if<Warning>(&event)) {
    warning->text = fmt::format("shard {}: {}", index_, warning->text);
    on_event(event);
  } else if (std::holds_alternative<RunEnded>(event)) {
    end_running(on_event);
    has_ended_ = true;
  }
}

}  // namespace proctor::cli
