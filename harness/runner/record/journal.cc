#include "harness/runner/record/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "harness/base/json.h"
#include "harness/base/regular_file.h"
#include "harness/runner/record/run_record.h"

namespace proctor {
namespace {

constexpr auto kSyncInterval = std::chrono::seconds(1);
constexpr std::size_t kMaxBacklogBytes = 4 * 1024 * 1024;

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, bool allow_existing,
                                               std::uint64_t most) {
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_CREAT | (allow_existing ? 0 : O_EXCL);
  const int fd = ::open(path.c_str(), flags, 0644);
  if (fd < 0) return Error::system("create " + path, errno);
  return std::unique_ptr<Journal>(new Journal(fd, path, most));
}

Journal::~Journal() {
  sync();
  ::close(fd_);
}

int Journal::write_record(const std::string& record) {
  JournalChain next = chain_;
  std::string text = torn_ ? "\n" : "";
  next.add(text);
  text += next.append(record);
  if (written_.bytes + text.size() > most_) return EFBIG;
  const JournalSeal seal{.before = written_, .after = next.state()};
  if (keep_seal_) keep_seal_(seal);
  ssize_t written;
  do {
    written = ::write(fd_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return errno;
  if (static_cast<std::size_t>(written) == text.size()) {
    chain_ = next;
    written_ = seal.after;
    torn_ = false;
    dirty_ = true;
    return 0;
  }
  // The disk accepted only a part of the record, for example at ENOSPC. The part is cut off so that the journal has
  // complete lines.
  if (::ftruncate(fd_, static_cast<off_t>(written_.bytes)) != 0) {
    chain_.add(std::string_view(text).substr(0, static_cast<std::size_t>(written)));
    written_ = chain_.state();
    torn_ = true;
  }
  return ENOSPC;
}

std::string Journal::difference() const {
  return proctor::difference(path_, {.before = written_, .after = written_});
}

void Journal::lose(int err) {
  if (lost_ != 0) return;
  lost_ = err;
  if (on_lost_) {
    on_lost_({WarningCode::kJournalNotWritten,
              std::string("failed to write journal.jsonl: ") + std::strerror(err) +
                  "; the run continues, and Proctor retries with the next record"});
  }
}

void Journal::on(const Event& event) {
  backlog_.push_back(to_json_line(event));
  backlog_bytes_ += backlog_.back().size();
  while (!backlog_.empty()) {
    if (const int err = write_record(backlog_.front()); err != 0) {
      lose(err);
      break;
    }
    backlog_bytes_ -= backlog_.front().size();
    backlog_.pop_front();
    plan_written_ = true;  // the plan is the first record
  }
  // The newest records describe the end of the run best. Reports cannot be rendered without the plan.
  while (backlog_bytes_ > kMaxBacklogBytes && backlog_.size() > 1) {
    const auto oldest = backlog_.begin() + (plan_written_ ? 0 : 1);
    backlog_bytes_ -= oldest->size();
    backlog_.erase(oldest);
    ++dropped_;
  }
  const bool ended = std::holds_alternative<RunEnded>(event);
  if (ended) seal_end();
  if (std::holds_alternative<RunPlanned>(event) || ended) {
    sync();
  } else {
    sync_if_due();
  }
}

void Journal::end_with(const std::string& record) {
  if (!complete()) return;
  write_record(record);
  seal_end();
}

// No write is in progress now, so both states of the seal are equal.
void Journal::seal_end() {
  if (keep_seal_) keep_seal_({.before = written_, .after = written_});
}

void Journal::sync_if_due() {
  if (dirty_ && Clock::now() - last_sync_ >= kSyncInterval) sync();
}

void Journal::sync() {
  last_sync_ = Clock::now();
  if (!dirty_) return;
  dirty_ = false;
  // EINVAL and EROFS: pipes and special files cannot be synced.
  if (::fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS) lose(errno);
}

void EventFanout::on(const Event& event) {
  queue_.push_back(event);
  if (delivering_) return;
  delivering_ = true;
  while (!queue_.empty()) {
    const Event next = std::move(queue_.front());
    queue_.pop_front();
    for (auto* sink : sinks_) sink->on(next);
  }
  delivering_ = false;
}

namespace {

namespace fs = std::filesystem;

// A separate directory, because the next run reads all records before its first case, and there can be hundreds of
// seals.
constexpr const char* kSealDirectory = "/seals/";
constexpr std::time_t kKeptSeconds = 7 * 24 * 3600;

std::string one_name_of(const std::string& run_dir) {
  std::error_code error;
  const fs::path real = fs::canonical(run_dir, error);
  return error ? "" : real.string();
}

// The name is a hash of the directory, so a run cannot select the seal of another run.
std::string seal_name(const std::string& real_run_dir) {
  return kSealDirectory + sha256_hex(real_run_dir).substr(0, 32);
}

JournalState state_of(const nlohmann::json& json) {
  return {.bytes = json.at(0).get<std::uint64_t>(), .digest = json.at(1).get<std::string>()};
}

std::optional<JournalSeal> parse_seal(const std::string& text, const std::string& real_run_dir) {
  const auto document = parse_json(text);
  try {  // the JSON library throws
    const bool ours = document.at("boot_id").get<std::string>() == boot_id() &&
                      document.at("run_dir").get<std::string>() == real_run_dir;
    if (!ours) return std::nullopt;
    return JournalSeal{.before = state_of(document.at("before")),
                       .after = state_of(document.at("after")),
                       .run_id = document.at("run_id").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Result<JournalSealFile> JournalSealFile::create(const std::string& run_dir, const std::string& run_id) {
  const auto directory = run_record_directory();
  if (!directory) return directory.error();
  const std::string real = one_name_of(run_dir);
  const std::string path = *directory + seal_name(real);
  const bool made = ::mkdir((*directory + kSealDirectory).c_str(), 0700) == 0 || errno == EEXIST;
  if (!made) return Error::system("create " + *directory + kSealDirectory, errno);
  auto fd = create_file(path, 0600);
  if (!fd) return fd.error();
  const std::string head = nlohmann::json{{"boot_id", boot_id()}, {"run_dir", real}, {"run_id", run_id}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return JournalSealFile(*std::move(fd), head.substr(0, head.size() - 1));
}

// Each text is at least as long as the one before, because its numbers only grow. A full disk leaves no seal.
void JournalSealFile::keep(const JournalSeal& seal) {
  const std::string text =
      fmt::format("{},\"before\":[{},\"{}\"],\"after\":[{},\"{}\"]}}\n", head_, seal.before.bytes,
                  seal.before.digest, seal.after.bytes, seal.after.digest);
  const bool kept = ::pwrite(fd_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!kept) static_cast<void>(!::ftruncate(fd_.get(), 0));
}

std::optional<JournalSeal> find_journal_seal(const std::string& run_dir) {
  const std::string real = one_name_of(run_dir);
  for (const auto& directory : run_record_directories()) {
    const auto text = read_regular(directory + seal_name(real), kMostRecord);
    if (!text) continue;
    if (auto seal = parse_seal(*text, real)) return seal;
  }
  return std::nullopt;
}

void remove_old_journal_seals() {
  const std::time_t now = std::time(nullptr);
  for (const auto& directory : run_record_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory + kSealDirectory, ignored)) {
      struct stat info {};
      if (::stat(entry.path().c_str(), &info) == 0 && now - info.st_mtime > kKeptSeconds)
        ::unlink(entry.path().c_str());
    }
  }
}

}  // namespace proctor
