#include "reports/history/history.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "harness/base/duration.h"
#include "harness/base/replace_file.h"
#include "reports/history/database.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

const std::string kDamagedFile = "it is damaged: ";
constexpr const char* kAgain = "Create the history again: proctor history add NEW REPORT...";

Error refused(const std::string& doing, const std::string& path, const std::string& why,
              const std::string& hint = {}) {
  return Error::usage(fmt::format("{} the history {}: {}", doing, path, why), hint);
}

// Returns the absolute path of the file. Its parent directories may be links, but the file may not be one.
Result<std::string> real_place(const std::string& path, const char* doing) {
  std::error_code error;
  const fs::path parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const fs::path directory = fs::canonical(parent, error);
  if (error) return refused(doing, path, fmt::format("{}: {}", parent.string(), error.message()));
  const std::string place = (directory / fs::path(path).filename()).string();
  struct stat info {};
  if (::lstat(place.c_str(), &info) != 0) {
    if (errno == ENOENT) return place;
    return refused(doing, path, std::error_code(errno, std::generic_category()).message());
  }
  if (S_ISLNK(info.st_mode)) {
    return refused(doing, path, "it is a link", "Give the path of the file itself, not of a link.");
  }
  if (S_ISDIR(info.st_mode)) return refused(doing, path, "it is a directory", "A history is one file.");
  if (!S_ISREG(info.st_mode)) return refused(doing, path, "it is not a regular file");
  for (const char* sibling :
       {"-journal", "-wal"}) {  // SQLite writes these files first, and reports a link there without its name
    if (fs::is_symlink(place + sibling, error))
      return refused(doing, path, fmt::format("{}{} is a link", path, sibling));
  }
  return place;
}

// Returns "" if the file is a history or still empty. It runs in a transaction, because another program may be creating
// the history at the same time.
std::string why_not_ours_now(Database& database) {
  const std::int64_t version = database.number("PRAGMA user_version");
  const std::int64_t application = database.number("PRAGMA application_id");
  const bool is_empty = database.number("SELECT count(*) FROM sqlite_schema") == 0;
  if (version == 0 && is_empty && (application == 0 || application == kApplicationId)) return "";
  if (version == 0 || application != kApplicationId) return "it belongs to another program";
  if (version == kSchemaVersion) {
    const std::string strange = strange_in(database);
    return strange.empty() ? "" : kDamagedFile + strange;
  }
  return fmt::format("its version is {}, and this Proctor supports {}: {} Proctor wrote it", version,
                     kSchemaVersion, version < kSchemaVersion ? "an older" : "a newer");
}

// Returns whether no interrupted change is left to undo. Undoing a change requires write access.
bool is_in_order(const std::string& place) {
  std::error_code error;
  const auto is_empty = [&](const std::string& file) {
    return !fs::exists(file, error) || fs::file_size(file, error) == 0;
  };
  return is_empty(place + "-journal") && is_empty(place + "-wal");
}

// The complete check of a file of this size takes a third of a second.
constexpr std::int64_t kSmallFile = 8'000'000;

// Returns the first damage in the file, or "".
std::string damage_in(Database& database) {
  Statement integrity(database, "PRAGMA integrity_check(1)");
  if (integrity.step() && integrity.text(0) != "ok") return std::string(integrity.text(0));
  Statement references(database, "PRAGMA foreign_key_check");
  if (references.step()) {
    return fmt::format("a row of {} refers to a missing row of {}", references.text(0), references.text(2));
  }
  for (const HistoryRun& run : read_runs(database)) {
    if (stored_summaries(database, run.id) != counted_summaries(database, run.id))
      return fmt::format("the summary of run {} does not match its results", run.run_id);
  }
  return "";
}

// Returns the first damage, or "". The quick check of a large file covers only its small tables.
std::string damage_found(Database& database, History::Check extent) {
  if (database.number("PRAGMA user_version") == 0) return "";  // it is empty
  const std::int64_t bytes = database.number("PRAGMA page_count") * database.number("PRAGMA page_size");
  if (extent == History::Check::kWhole || bytes <= kSmallFile) return damage_in(database);
  Statement table(
      database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('result', 'measure')");
  while (table.step()) {
    Statement check(database, fmt::format("PRAGMA quick_check({})", table.text(0)));
    if (check.step() && check.text(0) != "ok") return std::string(check.text(0));
  }
  return "";
}

std::string why_not_to_be_used(Database& database, History::Check extent) {
  database.execute("BEGIN");
  std::string why = why_not_ours_now(database);
  if (why.empty()) {
    const std::string damage = damage_found(database, extent);
    if (!damage.empty()) why = kDamagedFile + damage;
  }
  database.execute("COMMIT");
  return why;
}

Error refused_for(const std::string& doing, const std::string& path, const std::string& why) {
  return refused(doing, path, why, why.starts_with(kDamagedFile) ? kAgain : "");
}

}  // namespace

History::History(std::string path, Database database, std::chrono::milliseconds wait)
    : path_(std::move(path)), database_(std::move(database)), wait_(wait) {}

Error History::error_of(const std::string& doing, const SqliteFailure& failure) const {
  return history_error(doing, path_, failure, wait_);
}

Error history_error(const std::string& doing, const std::string& path, const SqliteFailure& failure,
                    std::chrono::milliseconds wait) {
  switch (failure.code & 255) {
    case SQLITE_NOTADB:
      return refused(doing, path, "it is not an SQLite file", "The first argument is the history.");
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // the tables do not match the schema version
      return refused(doing, path, kDamagedFile + failure.text, kAgain);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return refused(doing, path,
                     fmt::format("another process has held it for longer than {}", format_duration(wait)),
                     "Find the process with `fuser`, or wait longer with --wait.");
    case SQLITE_READONLY:
      return refused(doing, path, "it cannot be written, and it may contain an interrupted change");
    case SQLITE_FULL:
      return refused(doing, path, "the disk is full; the history is unchanged");
    default:
      break;
  }
  std::string why = failure.text;
  if (failure.sys_errno != 0)
    why += ": " + std::error_code(failure.sys_errno, std::generic_category()).message();
  return refused(doing, path, why);
}

Result<History> History::open(const std::string& path, std::chrono::milliseconds wait, Check extent) {
  const auto place = real_place(path, "write");
  if (!place) return place.error();
  if (auto ours = check_owner_of(fs::path(*place).parent_path().string()); !ours) return ours.error();
  try {
    std::error_code error;
    const bool is_new = !fs::exists(*place, error);
    Database database(*place, Database::Access::kCreate, wait);
    if (const std::string why = why_not_to_be_used(database, extent); !why.empty())
      return refused_for("write", path, why);
    if (database.is_read_only()) return refused("write", path, "it cannot be written");
    History history(path, std::move(database), wait);
    if (is_new) history.made_ = *place;
    return history;
  } catch (const SqliteFailure& failure) {
    return history_error("write", path, failure, wait);
  }
}

Result<History> History::open_to_read(const std::string& path, std::chrono::milliseconds wait, Check extent) {
  const auto place = real_place(path, "read");
  if (!place) return place.error();
  std::error_code error;
  if (!fs::exists(*place, error))
    return refused("read", path, "there is no such file", "Create one with `proctor history add`.");
  const auto open_as = [&](Database::Access access) -> Result<History> {
    Database database(*place, access, wait);
    if (const std::string why = why_not_to_be_used(database, extent); !why.empty())
      return refused_for("read", path, why);
    if (database.number("PRAGMA user_version") == 0)
      return refused("read", path, "it is empty", "Add runs with `proctor history add`.");
    return History(path, std::move(database), wait);
  };
  Database::Access other_way = Database::Access::kFrozen;
  try {
    return open_as(Database::Access::kRead);
  } catch (const SqliteFailure& failure) {
    const int code = failure.code & 255;
    // A writer was killed during a change. Only a process with write access can undo the change.
    const bool is_cut = code == SQLITE_READONLY && check_owner_of(fs::path(*place).parent_path().string());
    // Some file systems have no locks. If such a file system is also not writable, the file is read without locks.
    const bool without_locks = code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_PROTOCOL;
    if (!is_cut && !(without_locks && is_in_order(*place))) return history_error("read", path, failure, wait);
    if (is_cut) other_way = Database::Access::kCreate;
  }
  try {
    return open_as(other_way);
  } catch (const SqliteFailure& failure) {
    if (other_way == Database::Access::kFrozen) return history_error("read", path, failure, wait);
    return refused("read", path,
                   "an interrupted change must be undone, which writes to the file: " + failure.text);
  }
}

Result<void> History::change(const std::function<Result<void>()>& work) {
  try {
    // With this setting removed rows leave no gaps. SQLite accepts it only for a file without tables.
    if (database_.number("PRAGMA page_count") == 0) database_.execute("PRAGMA auto_vacuum = FULL");
    database_.execute("BEGIN IMMEDIATE");
    std::string why =
        why_not_ours_now(database_);  // another program may have changed the file since it was opened
    if (database_.has_moved()) why = "it was removed in the meantime";
    Result<void> done = why.empty() ? Result<void>() : refused("write", path_, why);
    if (done) {
      if (database_.number("PRAGMA user_version") == 0) make_tables(database_);
      done = work();
    }
    if (done) {
      database_.execute("COMMIT");
      made_.clear();
    } else {
      take_back();
    }
    return done;
  } catch (const SqliteFailure& failure) {
    take_back();
    return error_of("write", failure);
  }
}

Result<void> History::read(const std::function<void(Database&)>& work) {
  const bool is_part = database_.is_in_transaction();
  try {
    if (!is_part) database_.execute("BEGIN");
    work(database_);
    if (!is_part) database_.execute("COMMIT");
    return {};
  } catch (const SqliteFailure& failure) {
    if (!is_part) roll_back();
    return error_of("read", failure);
  }
}

void History::roll_back() {
  try {
    if (database_.is_in_transaction()) database_.execute("ROLLBACK");
  } catch (const SqliteFailure&) {  // SQLite undoes the remaining change when the file is next opened
  }
}

// Rolls back, and removes the file if the failed change created it. A program that waits for its lock then detects that
// it was removed.
void History::take_back() {
  roll_back();
  if (made_.empty()) return;
  try {
    database_.execute("BEGIN IMMEDIATE");
    std::error_code error;
    const bool is_empty = database_.number("SELECT count(*) FROM sqlite_schema") == 0;
    if (is_empty && !database_.has_moved()) fs::remove(made_, error);
  } catch (const SqliteFailure&) {  // another program has opened the file, so it must not be removed
  }
  roll_back();
}

bool History::has_journal(const std::string& sha256) {
  bool has = false;
  const auto done = read([&](Database& database) {
    has = Statement(database, "SELECT 1 FROM run WHERE journal_sha256 = ?").bind(sha256).step();
  });
  return done && has;
}

Result<Added> History::add(const RunResults& run) {
  if (run.journal_sha256.empty())
    return Error::usage(fmt::format("add {} to the history: it has no journal", run.place));
  return write_run(database_, run);
}

// Imports the merged runs that the other history recorded, also those that it has removed since.
Result<void> History::note_merged_of(History& other) {
  std::map<std::string, std::vector<std::string>> merged;
  auto done = other.read([&](Database& database) {
    Statement row(database, "SELECT merged, shard FROM merged_part");
    while (row.step()) merged[std::string(row.text(0))].emplace_back(row.text(1));
  });
  if (!done) return done;
  for (const auto& [run_id, shards] : merged) static_cast<void>(note_merged(database_, run_id, shards));
  return {};
}

Result<std::int64_t> History::add_all(History& other) {
  if (auto noted = note_merged_of(other); !noted) return noted.error();
  const auto runs = other.runs();
  if (!runs) return runs.error();
  std::int64_t count = 0;
  for (const HistoryRun& run : *runs) {
    if (has_journal(run.journal_sha256)) continue;
    const auto results = other.results_of(run);
    if (!results) return results.error();
    const auto added = add(*results);
    if (!added) return added.error();
    count += *added == Added::kNew || *added == Added::kReplaced ? 1 : 0;
  }
  return count;
}

// Removes the runs that the statement selects, and returns their number.
std::int64_t History::remove(Statement& old) {
  std::vector<std::int64_t> runs;
  while (old.step()) runs.push_back(old.integer(0));
  for (const std::int64_t run : runs) remove_run(database_, run);
  if (!runs.empty()) remove_orphans(database_);
  return static_cast<std::int64_t>(runs.size());
}

std::int64_t History::keep_newest(std::size_t keep) {
  Statement old(database_, "SELECT id FROM run ORDER BY started DESC, run_id DESC LIMIT -1 OFFSET ?");
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  return remove(old.bind(std::min(keep, kMost)));
}

std::int64_t History::keep_since(const std::string& started) {
  Statement old(database_, "SELECT id FROM run WHERE started < ?");
  return remove(old.bind(started));
}

Result<HistorySize> History::size() {
  HistorySize size;
  const auto done = read([&](Database& database) {
    size.runs = database.number("SELECT count(*) FROM run");
    size.cases = database.number("SELECT count(*) FROM test");
    size.results = database.number("SELECT sum(passing + failing + expected + unrun) FROM run_variant");
    size.bytes = database.number("PRAGMA page_count") * database.number("PRAGMA page_size");
    Statement bounds(database, "SELECT min(started), max(started) FROM run");
    if (!bounds.step()) return;
    size.first = bounds.text(0);
    size.last = bounds.text(1);
  });
  if (!done) return done.error();
  return size;
}

Result<std::vector<HistoryRun>> History::runs() {
  std::vector<HistoryRun> runs;
  const auto done = read([&](Database& database) { runs = read_runs(database); });
  if (!done) return done.error();
  return runs;
}

Result<RunResults> History::results_of(const HistoryRun& run) {
  RunResults results;
  const auto done = read([&](Database& database) { results = read_results(database, run); });
  if (!done) return done.error();
  results.place = fmt::format("{} in {}", run.run_id, path_);
  return results;
}

}  // namespace proctor
