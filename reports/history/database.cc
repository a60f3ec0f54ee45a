#include "reports/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <climits>
#include <set>
#include <string>

#include "harness/journal/outcome_meaning.h"

namespace proctor {
namespace {

static_assert(kDamaged == SQLITE_CORRUPT);

[[noreturn]] void give_up(sqlite3* connection, int code) {
  throw SqliteFailure{
      sqlite3_extended_errcode(connection) != SQLITE_OK ? sqlite3_extended_errcode(connection) : code,
      sqlite3_errmsg(connection), sqlite3_system_errno(connection)};
}

// Converts a path into a URI. Characters with a special meaning in a URI are percent-encoded.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (std::string_view("%?#").find(c) == std::string_view::npos) {
      uri += c;
    } else {
      uri += '%';
      uri += kDigits[static_cast<unsigned char>(c) >> 4];
      uri += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::Database(const std::string& path, Access access, std::chrono::milliseconds wait) {
  int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  if (access == Access::kFrozen) flags |= SQLITE_OPEN_URI;
  sqlite3* connection = nullptr;
  const int code =
      sqlite3_open_v2((access == Access::kFrozen ? uri_of(path) : path).c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  if (connection == nullptr) throw SqliteFailure{SQLITE_NOMEM, "out of memory", 0};
  if (code != SQLITE_OK) give_up(connection, code);
  sqlite3_busy_timeout(connection, static_cast<int>(std::min<std::int64_t>(wait.count(), INT_MAX)));
  // The file may come from an untrusted source. SQLite must not execute its content, and must detect damage.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY");
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) give_up(connection_.get(), code);
}

std::int64_t Database::number(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(connection_.get()); }

bool Database::is_read_only() const { return sqlite3_db_readonly(connection_.get(), "main") == 1; }

bool Database::is_in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

bool Database::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

void Statement::Finalise::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(Database& database, std::string_view sql) : connection_(database.connection_.get()) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) give_up(connection_, code);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) give_up(connection_, code);
  return false;
}

// The result is ignored: it repeats an error of step(), which was already thrown.
void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::bytes(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Statement::put_integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), index, value));
}

void Statement::put_real(int index, double value) {
  check(sqlite3_bind_double(statement_.get(), index, value));
}

void Statement::put_text(int index, std::string_view value) {
  check(sqlite3_bind_text64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::put(int index, const BlobValue& value) {
  check(sqlite3_bind_blob64(statement_.get(), index, value.bytes.empty() ? "" : value.bytes.data(),
                            value.bytes.size(), SQLITE_TRANSIENT));
}

void Statement::put_null(int index) { check(sqlite3_bind_null(statement_.get(), index)); }

namespace {

// The numbers in existing files must keep their meaning if the enumerations change.
static_assert(static_cast<int>(Outcome::kPass) == 0 && static_cast<int>(Outcome::kNotrun) == 10);
static_assert(static_cast<int>(ResultClass::kPassing) == 0 && static_cast<int>(ResultClass::kFailing) == 1 &&
              static_cast<int>(ResultClass::kExpected) == 2 && static_cast<int>(ResultClass::kNotrun) == 3);

constexpr const char* kTables = R"(
CREATE TABLE stack (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, facts TEXT NOT NULL) STRICT;
CREATE TABLE run (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, journal_sha256 TEXT NOT NULL UNIQUE, started TEXT NOT NULL,
  subject_commit TEXT, dirty INTEGER, branch TEXT, repository TEXT, build TEXT, plan TEXT NOT NULL,
  stack INTEGER NOT NULL REFERENCES stack, exit_code INTEGER NOT NULL, verdict TEXT NOT NULL,
  simulated INTEGER NOT NULL, complete INTEGER NOT NULL) STRICT;
CREATE INDEX run_by_commit ON run (subject_commit);
CREATE TABLE merged_part (merged TEXT NOT NULL, shard TEXT NOT NULL, PRIMARY KEY (merged, shard)) STRICT, WITHOUT ROWID;
CREATE INDEX merged_part_by_shard ON merged_part (shard);
CREATE TABLE program (
  run INTEGER NOT NULL REFERENCES run, position INTEGER NOT NULL, suite TEXT NOT NULL, backend TEXT NOT NULL,
  sha256 TEXT NOT NULL, PRIMARY KEY (run, position)) STRICT, WITHOUT ROWID;

CREATE TABLE test (id INTEGER PRIMARY KEY, case_id TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE variant (
  id INTEGER PRIMARY KEY, suite TEXT NOT NULL, backend TEXT NOT NULL, stack_name TEXT NOT NULL,
  device_model TEXT NOT NULL, simulated INTEGER NOT NULL,
  UNIQUE (suite, backend, stack_name, device_model, simulated)) STRICT;
CREATE TABLE outcome (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO outcome VALUES (0, 'pass'), (1, 'fail'), (2, 'error'), (3, 'timeout'), (4, 'stall'), (5, 'crash'),
  (6, 'device_lost'), (7, 'skip'), (8, 'xfail'), (9, 'xpass'), (10, 'notrun');
CREATE TABLE result_class (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO result_class VALUES (0, 'passing'), (1, 'failing'), (2, 'expected'), (3, 'notrun');
CREATE TABLE reason (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE device (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE cause (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE cause_of_run (
  run INTEGER NOT NULL REFERENCES run, cause INTEGER NOT NULL REFERENCES cause, text TEXT NOT NULL,
  PRIMARY KEY (run, cause)) STRICT, WITHOUT ROWID;

CREATE TABLE result (
  run INTEGER NOT NULL REFERENCES run, test INTEGER NOT NULL REFERENCES test,
  variant INTEGER NOT NULL REFERENCES variant, outcome INTEGER NOT NULL REFERENCES outcome,
  result_class INTEGER NOT NULL REFERENCES result_class, reason INTEGER REFERENCES reason, cause INTEGER REFERENCES cause,
  attempts INTEGER NOT NULL, flaky INTEGER NOT NULL, duration_ms INTEGER NOT NULL,
  device INTEGER REFERENCES device, PRIMARY KEY (run, test)) STRICT, WITHOUT ROWID;
CREATE INDEX result_notable ON result (test, variant, run, result_class, flaky) WHERE result_class = 1 OR flaky = 1;
CREATE TABLE metric (id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE (name, unit)) STRICT;
CREATE TABLE measure (
  run INTEGER NOT NULL REFERENCES run, test INTEGER NOT NULL REFERENCES test, position INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric, value REAL, n INTEGER NOT NULL, spread REAL,
  PRIMARY KEY (run, test, position)) STRICT, WITHOUT ROWID;
CREATE TABLE run_variant (
  run INTEGER NOT NULL REFERENCES run, variant INTEGER NOT NULL REFERENCES variant, passing INTEGER NOT NULL,
  failing INTEGER NOT NULL, expected INTEGER NOT NULL, unrun INTEGER NOT NULL, flaky INTEGER NOT NULL,
  ran BLOB NOT NULL, PRIMARY KEY (run, variant)) STRICT;
CREATE TABLE words (
  run INTEGER NOT NULL REFERENCES run, test INTEGER NOT NULL REFERENCES test, text TEXT NOT NULL,
  PRIMARY KEY (run, test)) STRICT, WITHOUT ROWID;
CREATE TABLE used_device (
  run INTEGER NOT NULL REFERENCES run, device INTEGER NOT NULL REFERENCES device, host TEXT NOT NULL,
  model TEXT NOT NULL, attempts INTEGER NOT NULL, failed_attempts INTEGER NOT NULL, drained INTEGER NOT NULL,
  PRIMARY KEY (run, device, host)) STRICT, WITHOUT ROWID;

CREATE VIEW outcome_of_case AS
  SELECT run.started, run.run_id, run.subject_commit, run.branch, test.case_id, variant.suite, variant.backend,
         variant.stack_name, variant.device_model, variant.simulated, outcome.name AS outcome, reason.text AS reason,
         result_class.name AS result_class, result.attempts, result.flaky, result.duration_ms, device.name AS device,
         coalesce(words.text, cause_of_run.text) AS cause
    FROM result JOIN run ON run.id = result.run JOIN test ON test.id = result.test
    JOIN variant ON variant.id = result.variant JOIN outcome ON outcome.id = result.outcome
    JOIN result_class ON result_class.id = result.result_class LEFT JOIN reason ON reason.id = result.reason
    LEFT JOIN device ON device.id = result.device
    LEFT JOIN cause_of_run ON cause_of_run.run = result.run AND cause_of_run.cause = result.cause
    LEFT JOIN words ON words.run = result.run AND words.test = result.test;
)";

// Returns each table, index, view and trigger of the file with its SQL: "table run CREATE TABLE run ...".
std::set<std::string> entries_of(Database& database) {
  std::set<std::string> entries;
  Statement row(database, "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema");
  while (row.step()) entries.insert(fmt::format("{} {}", row.text(0), row.text(1)));
  return entries;
}

}  // namespace

void make_tables(Database& database) {
  database.execute(kTables);
  database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion)
          .c_str());
}

std::string strange_in(Database& database) {
  Database own(":memory:", Database::Access::kCreate, std::chrono::milliseconds(0));
  own.execute(kTables);
  const auto there = entries_of(database);
  const auto wanted = entries_of(own);
  if (!std::ranges::includes(wanted, there))
    return fmt::format("it has a table, index, view or trigger that is not of version {}", kSchemaVersion);
  return there.size() == wanted.size()
             ? ""
             : fmt::format("it lacks a table, index or view of version {}", kSchemaVersion);
}

}  // namespace proctor
