// What became of the cases, run by run, in one SQLite file (reports/history/database.h has its tables).
//
// The file is a cache: it can be made again from the runs, imported in any order, and answers the same. So which runs
// it has depends on nothing but which were given to it:
//
//   * A run is known by the SHA-256 of its journal, and by its run id. Of several journals of one run, one that its
//     runner completed wins, then the one in which more cases were executed, then the one with the larger digest.
//   * A run that was merged from shards stands for them, whether they come before it or after it. Of merged runs that share
//     a shard, as after a shard was repeated, the one with the newest shard is kept.
//
// Several programs may write to a file: each waits for the others. Nobody sees a half of a change, and a change that
// fails, on a full disk say, leaves what there was. Example:
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

// How long a reader waits for who writes, where nobody says otherwise.
inline constexpr std::chrono::seconds kHistoryWait(60);

// What is in a file.
struct HistorySize {
  std::int64_t runs = 0;
  std::int64_t cases = 0;
  std::int64_t results = 0;
  std::int64_t bytes = 0;
  std::string first{};  // when its oldest run began, and its newest; "" without runs
  std::string last{};
};

// What SQLite said of a file, as a user's mistake.
Error history_error(const std::string& doing, const std::string& path, const SqliteFailure& failure,
                    std::chrono::milliseconds wait);

// All failures are kUsage: the file, or its place, is not what it should be.
class History {
 public:
  // How much of a file of more than 8 MB is checked for damage. A smaller one is checked completely.
  enum class Check { kQuick, kWhole };

  // To write. Where there is no file, or an empty one, it is made when first something is added. A link is refused: who
  // made it would decide what is written to.
  static Result<History> open(const std::string& path, std::chrono::milliseconds wait,
                              Check extent = Check::kQuick);
  // Also where nothing can be written.
  static Result<History> open_to_read(const std::string& path, std::chrono::milliseconds wait,
                                      Check extent = Check::kQuick);

  // What `work` does is done as a whole or not at all; it is not when `work` fails.
  Result<void> change(const std::function<Result<void>()>& work);
  // What `work` reads is of one moment. It may throw SqliteFailure.
  Result<void> read(const std::function<void(Database&)>& work);

  // Whether a journal with this SHA-256 was imported.
  bool has_journal(const std::string& sha256);

  // Call these within change(). They may throw SqliteFailure, and change() returns it as an error.
  Result<Added> add(const RunResults& run);
  // How many of its runs came new to this one.
  Result<std::int64_t> add_all(History& other);
  // How many runs were removed: all but the newest `keep`, or those that began before the UTC time.
  std::int64_t keep_newest(std::size_t keep);
  std::int64_t keep_since(const std::string& started);

  Result<HistorySize> size();
  Result<std::vector<HistoryRun>> runs();  // oldest first
  // Its cases are in the order of their ids.
  Result<RunResults> results_of(const HistoryRun& run);
  const std::string& path() const { return path_; }

 private:
  History(std::string path, Database database, std::chrono::milliseconds wait);

  std::int64_t remove(Statement& old);
  void roll_back();
  void take_back();
  Result<void> note_merged_of(History& other);
  Error error_of(const std::string& doing, const SqliteFailure& failure) const;

  std::string path_;    // as the user named it
  std::string made_{};  // where the file is, while this made it and nothing is in it yet
  Database database_;
  std::chrono::milliseconds wait_;
};

}  // namespace proctor
