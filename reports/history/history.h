// The results of cases over many runs, in one SQLite file. reports/history/database.h describes its tables.
//
// The file is a cache. It can be created again from the runs, imported in any order, with the same content. The set of
// its runs depends only on the set of imported runs:
//
//   * A run is identified by the SHA-256 of its journal, and by its run id. Of several journals of one run, the history
//     keeps one that its runner completed, then the one with more executed cases, then the one with the larger digest.
//   * A run that was merged from shards replaces these shards, whether it is imported before or after them. Of merged
//     runs that share a shard, for example after a shard was repeated, the history keeps the one with the newest shard.
//
// Several programs may write to a file. Each waits for the locks of the others. Readers see a change completely or not
// at all. A change that fails, for example on a full disk, leaves the file as before. Example:
//
//   Result<void> remember(const RunResults& results) {
//     auto history = History::open("history.sqlite", std::chrono::seconds(60));
//     if (!history) return history.error();
//     return history->change([&]() -> Result<void> {
//       const auto added = history->add(results);
//       return added ? Result<void>() : added.error();
//     });
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reports/history/database.h"
#include "reports/history/read_run.h"
#include "reports/history/write_run.h"
#include "reports/resolve/run_results.h"

namespace proctor {

// The default time that a reader waits for the lock of a writer.
inline constexpr std::chrono::seconds kHistoryWait(60);

// The number of rows in a file, and its size.
struct HistorySize {
  std::int64_t runs = 0;
  std::int64_t cases = 0;
  std::int64_t results = 0;
  std::int64_t bytes = 0;
  std::string first{};  // when its oldest run began, and below when its newest did; "" without runs
  std::string last{};
};

// Converts an SQLite error into a user's mistake. `doing` is "read" or "write".
Error history_error(const std::string& doing, const std::string& path, const SqliteFailure& failure,
                    std::chrono::milliseconds wait);

// An open history file. `proctor run`, `proctor history` and the page use it. All its errors are kUsage: they concern
// the file or its directory.
class History {
 public:
  // How much of a file of more than 8 MB is checked for damage. A smaller file is always checked completely.
  enum class Check { kQuick, kWhole };

  // Opens the file for writing. The first change creates the file if it does not exist or is empty. A link is refused,
  // because its owner would select the file that is written.
  static Result<History> open(const std::string& path, std::chrono::milliseconds wait,
                              Check extent = Check::kQuick);
  // Opens the file for reading, also in a directory without write permission.
  static Result<History> open_to_read(const std::string& path, std::chrono::milliseconds wait,
                                      Check extent = Check::kQuick);

  // Calls `work` in a transaction. If `work` fails, the transaction is rolled back.
  Result<void> change(const std::function<Result<void>()>& work);
  // Calls `work` in a read transaction, so that it sees one state of the file. `work` may throw SqliteFailure.
  Result<void> read(const std::function<void(Database&)>& work);

  // Returns whether a journal with this SHA-256 was imported.
  bool has_journal(const std::string& sha256);

  // The following functions must be called within change(). They may throw SqliteFailure,
  // which change() returns as an error.
  Result<Added> add(const RunResults& run);
  // Adds the runs of `other`, and returns the number of runs that were new.
  Result<std::int64_t> add_all(History& other);
  // Each removes old runs and returns their number: all but the newest `keep`, or those that began before the UTC time.
  std::int64_t keep_newest(std::size_t keep);
  std::int64_t keep_since(const std::string& started);

  Result<HistorySize> size();
  Result<std::vector<HistoryRun>> runs();  // oldest first
  // Returns the results of a run, with the cases in the order of their ids.
  Result<RunResults> results_of(const HistoryRun& run);
  const std::string& path() const { return path_; }

 private:
  History(std::string path, Database database, std::chrono::milliseconds wait);

  std::int64_t remove(Statement& old);
  void roll_back();
  void take_back();
  Result<void> note_merged_of(History& other);
  Error error_of(const std::string& doing, const SqliteFailure& failure) const;

  std::string path_;    // the path as the user entered it
  std::string made_{};  // the absolute path, while this object created the file and it is still empty
  Database database_;
  std::chrono::milliseconds wait_;
};

}  // namespace proctor
