#include "reports/history/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <climits>

namespace proctor {
namespace {

static_assert(kDamaged == SQLITE_CORRUPT);

[[noreturn]] void give_up(sqlite3* connection, int code) {
  throw SqliteFailure{
      sqlite3_extended_errcode(connection) != SQLITE_OK ? sqlite3_extended_errcode(connection) : code,
      sqlite3_errmsg(connection), sqlite3_system_errno(connection)};
}

// A path as a URI: what has a meaning there is written as a number.
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
  // The file may come from anywhere: nothing in it is run, and what is damaged is found and not believed.
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

// Its answer repeats what step() said, and was thrown.
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

}  // namespace proctor
