// One SQLite file through its C interface: what is opened is closed, what is prepared is finalised. What goes wrong is
// thrown as a SqliteFailure, which never leaves this room: History makes an Error of it. Example:
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

struct SqliteFailure {
  int code = 0;        // the extended result code
  std::string text{};  // SQLite's own words
  int sys_errno = 0;   // what the system said last, or 0
};

inline constexpr int kDamaged = 11;  // SQLITE_CORRUPT: what is in the file cannot be

class Database {
 public:
  enum class Access {
    kRead,
    kFrozen,  // reads without locks, for a file that nobody can be writing to
    kCreate,  // reads and writes; the file is made where there is none
  };
  // `path` is absolute and no link. Whoever holds a lock is waited for, at most for `wait`.
  Database(const std::string& path, Access access, std::chrono::milliseconds wait);

  // Statements without parameters and without an answer.
  void execute(const char* sql);
  // The one number that a statement answers.
  std::int64_t number(const char* sql);
  std::int64_t last_id() const;
  bool is_read_only() const;
  bool is_in_transaction() const;
  // Whether the file is no more where it was opened: somebody removed it, or put another there.
  bool has_moved() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

// Bytes that are no text, for Statement::bind().
struct BlobValue {
  std::string_view bytes{};
};

class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  // Values of the parameters from the first on; what the statement did before is over.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    reset();
    int index = 0;
    (put(++index, values), ...);
    return *this;
  }
  // Goes to the next row, if there is one.
  bool step();
  // Does what it does with these values, to the end.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
    reset();
  }
  void reset();

  // Columns of the row, from 0. A text lives until the next step.
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::string_view bytes(int column) const;  // of a BLOB
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

// The tables of a history.
//
//   run           one row a run. journal_sha256 makes its import idempotent. Of what was tested: subject_commit, dirty,
//                 branch, repository, build; null is unknown. `plan` is the digest of the whole plan, also of a shard
//   merged_part   run_id of a merged run and of each of its shards, which are no runs of their own beside it; also of a
//                 merged run whose place another one took, so that the order of imports does not matter
//   stack         the facts of a driver stack, once for all runs that had it, as JSON
//   program       the digest of each suite's program in a run
//   test          the id of a case
//   variant       where a suite ran: stack_name, device_model and simulated make a result another one
//   result        one row for each case of a run, in the order of the runs, so that an import appends.
//                 `outcome` and `result_class` are numbers of the tables of that name, `reason` and `cause` may be null
//   cause         cases with one key ended alike;  cause_of_run: in which words, run by run
//   words         of one case in one run, where they are not those of its cause
//   used_device   of each device that a run could use: how many attempts passed or failed on it, and whether it was
//                 drained
//   device reason metric    names that many rows share
//   measure       what a case measured; `position` is its place among the measures of the case. There is no column
//                 for single samples, since no journal has them, nor for the variant, which `result` has
//   run_variant   a summary: how many cases of a variant stood how in a run, and which of them passed or failed (`ran`:
//                 numbers of tests as differences, each in LEB128), so that nobody has to read all results to know in
//                 how many runs a case was
//   outcome_of_case    a view for people with a shell of SQLite's
//
// Indexes, beside those of the keys and of UNIQUE columns: run_by_commit (subject_commit), for history:DB@COMMIT;
// merged_part_by_shard (shard); and result_notable (test, variant, run, result_class, flaky) of the rows that failed or are
// flaky, which are few: the others are found by run.

inline constexpr int kApplicationId = 0x50524354;  // "PRCT", as `file` and SQLite's shell show it

inline constexpr int kSchemaVersion = 2;

// The file must have no tables. The caller begins the transaction.
void make_tables(Database& database);

// Returns "" if the file has exactly these tables, indexes and views. A foreign trigger or view would be executed whenever
// the file is read or written.
std::string strange_in(Database& database);

}  // namespace proctor
