// A small C++ wrapper over the C interface of SQLite, for the files of reports/history only. Its destructors close the
// connection and finalise the statements. Every SQLite error is thrown as a SqliteFailure, which History converts into
// an Error. Example:
//
//   Database database("/tmp/x.sqlite", Database::Access::kCreate, std::chrono::seconds(5));
//   database.execute("CREATE TABLE t (a INTEGER, b TEXT)");
//   Statement insert(database, "INSERT INTO t VALUES (?, ?)");
//   insert.run(1, "one");
//   Statement select(database, "SELECT a, b FROM t WHERE a >= ?");
//   select.bind(1);
//   while (select.step()) std::printf("%d\n", static_cast<int>(select.integer(0)));
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace proctor {

// The exception for every SQLite error. It never leaves reports/history.
struct SqliteFailure {
  int code = 0;        // the extended result code
  std::string text{};  // the message of SQLite
  int sys_errno = 0;   // errno of the last system call, or 0
};

inline constexpr int kDamaged = 11;  // SQLITE_CORRUPT: the content of the file is not valid

// A connection to one SQLite file. The destructor closes it.
class Database {
 public:
  enum class Access {
    kRead,
    kFrozen,  // reads without locks, for a file that no process can be writing to
    kCreate,  // reads and writes, and creates the file if it does not exist
  };
  // `path` must be absolute and not a link. If another process holds a lock, each
  // statement waits for it, at most `wait`.
  Database(const std::string& path, Access access, std::chrono::milliseconds wait);

  // Executes statements that have no parameters and return no rows.
  void execute(const char* sql);
  // Returns the single number that the statement selects.
  std::int64_t number(const char* sql);
  std::int64_t last_id() const;
  bool is_read_only() const;
  bool is_in_transaction() const;
  // Returns whether the opened file is no longer at its path, because another process removed or replaced it.
  bool has_moved() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

// Bytes for Statement::bind() that are stored as a BLOB, not as text.
struct BlobValue {
  std::string_view bytes{};
};

// A prepared statement of a Database. The destructor finalises it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  // Resets the statement and binds the values to its parameters, from the first parameter on.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    reset();
    int index = 0;
    (put(++index, values), ...);
    return *this;
  }
  // Reads the next row. Returns false after the last row.
  bool step();
  // Executes the statement with these values and ignores its rows.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
    reset();
  }
  void reset();

  // Columns of the current row, counted from 0. A returned text is valid until the next step().
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::string_view bytes(int column) const;  // the bytes of a BLOB
  bool is_null(int column) const;

 private:
  template <std::integral Integer>
  void put(int index, Integer value) {
    put_integer(index, static_cast<std::int64_t>(value));
  }
  template <std::floating_point Real>
  void put(int index, Real value) {
    put_real(index, static_cast<double>(value));
  }
  void put(int index, std::string_view value) { put_text(index, value); }
  void put(int index, const std::string& value) { put_text(index, value); }
  void put(int index, const char* value) { put_text(index, value); }
  template <typename Value>
  void put(int index, const std::optional<Value>& value) {
    value ? put(index, *value) : put_null(index);
  }
  void put(int index, const BlobValue& value);
  void put_integer(int index, std::int64_t value);
  void put_real(int index, double value);
  void put_text(int index, std::string_view value);
  void put_null(int index);
  void check(int code) const;

  struct Finalise {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalise> statement_;
};

// The tables of a history:
//
//   run           one row for each run. journal_sha256 makes its import idempotent. subject_commit, dirty, branch,
//                 repository and build describe the tested sources; null is unknown. `plan` is the digest of the whole
//                 plan, also for a shard
//   merged_part   the run_id of a merged run and of each of its shards. These shards have no rows in `run`. Merged runs
//                 that another one replaced are included, so that the order of imports does not matter
//   stack         the facts of a driver stack as JSON, shared by all runs with this stack
//   program       the digest of each suite's program in a run
//   test          the id of a case
//   variant       where a suite ran. Results are compared only if stack_name, device_model and simulated are equal
//   result        one row for each case of a run, in the order of the runs, so that an import appends. `outcome` and
//                 `result_class` are the numbers of the enumerations Outcome and ResultClass. `reason` and `cause` may
//                 be null
//   cause         the key that cases with the same failure share;  cause_of_run: its text in each run
//   words         the failure text of one case in one run, if it differs from the text of its cause
//   used_device   one row for each device that a run could use: attempts that passed or failed on it, and whether it
//                 was drained
//   device reason metric    names that many rows share
//   measure       a measurement of a case; `position` is its place among the measures of the case. Single samples have
//                 no column, because no journal contains them. `result` has the variant
//   run_variant   a summary of one variant in one run: the number of cases by result class, and the cases that passed
//                 or failed. `ran` has the numbers of these tests as differences, each in LEB128. With it, the number
//                 of runs of a case is computed without reading all results
//   outcome_of_case    a view for users of SQLite's shell
//
// Keys and UNIQUE columns have indexes. The other indexes are run_by_commit (subject_commit), for history:DB@COMMIT;
// merged_part_by_shard (shard); and result_notable (test, variant, run, result_class, flaky) of the rows that failed or
// are flaky, which are few. Other results are found by run.

inline constexpr int kApplicationId = 0x50524354;  // "PRCT", as `file` and SQLite's shell show it

inline constexpr int kSchemaVersion = 2;

// Creates the tables in a file without tables. The caller begins the transaction.
void make_tables(Database& database);

// Returns "" if the file has exactly the tables, indexes and views of a history. Otherwise it returns the first
// difference. A foreign trigger or view would be executed each time the file is read or written.
std::string strange_in(Database& database);

}  // namespace proctor
