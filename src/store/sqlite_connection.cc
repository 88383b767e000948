#include "store/sqlite_connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

namespace windrow::store {
namespace {

// How long a statement waits for another process that has the file open, a backup for one.
constexpr int kBusyMs = 5000;

bool is_no_room(int error) {
  return error == EDQUOT || error == EFBIG || error == ENOSPC;
}

// Why the last input or output failed, if for want of room; otherwise 0. SQLite has SQLITE_FULL for
// ENOSPC in a write alone. The index of the log is no file that can be asked, so that the last
// error of the system stands for it.
int want_of_room(sqlite3* handle) {
  for (const int which : {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER}) {
    sqlite3_file* file = nullptr;
    int error = 0;
    if (sqlite3_file_control(handle, "main", which, static_cast<void*>(&file)) == SQLITE_OK &&
        file != nullptr && file->pMethods != nullptr &&
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK &&
        is_no_room(error))
      return error;
  }
  const int error = sqlite3_system_errno(handle);
  return is_no_room(error) ? error : 0;
}

constexpr int kPrimaryCode = 0xFF;  // of SQLite's extended codes

ErrorKind kind_of(int code) {
  switch (code & kPrimaryCode) {
    case SQLITE_FULL:
      return ErrorKind::kDiskFull;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return ErrorKind::kInvalid;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CONSTRAINT:
      return ErrorKind::kConflict;
    default:
      return ErrorKind::kIo;
  }
}

// The bound values outlive the run of the statement, so SQLite copies nothing.
int bind(sqlite3_stmt* statement, int place, const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value))
    return sqlite3_bind_int64(statement, place, *number);
  if (const auto* real = std::get_if<double>(&value))
    return sqlite3_bind_double(statement, place, *real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }
  if (const auto* blob = std::get_if<Blob>(&value))
    return sqlite3_bind_blob64(statement, place, blob->bytes.data(), blob->bytes.size(),
                               SQLITE_STATIC);
  return sqlite3_bind_null(statement, place);
}

}  // namespace

void SqliteConnection::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path,
                                                                 int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  // There is a handle also where it failed, to be asked why and to be closed.
  auto connection = std::unique_ptr<SqliteConnection>(new SqliteConnection(handle, path));
  if (code != SQLITE_OK) {
    Error error = connection->failure("open");
    std::error_code ignored;
    const bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
    const std::filesystem::path needed =
        creates ? std::filesystem::path(path).parent_path() : std::filesystem::path(path);
    if (!std::filesystem::exists(needed, ignored)) error.kind = ErrorKind::kNotFound;
    return error;
  }
  sqlite3_busy_timeout(handle, kBusyMs);
  return connection;
}

SqliteConnection::SqliteConnection(sqlite3* handle, std::string path)
    : handle_(handle), path_(std::move(path)) {}

// SQLite writes its log back into the file, and removes it, when the last connection closes; it
// does not close while there are statements.
SqliteConnection::~SqliteConnection() {
  by_sql_.clear();
  kept_.clear();
  sqlite3_close_v2(handle_);
}

Error SqliteConnection::failure(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(handle_);
  const int error = (code & kPrimaryCode) == SQLITE_IOERR ? want_of_room(handle_) : 0;
  if (error != 0) {
    return Error{ErrorKind::kDiskFull, fmt::format("cannot {} {}: {}", doing, path_,
                                                   std::generic_category().message(error))};
  }
  return Error{kind_of(code),
               fmt::format("cannot {} {}: {}", doing, path_, sqlite3_errmsg(handle_))};
}

Result<void> SqliteConnection::execute(const std::string& sql) {
  const std::scoped_lock lock(mutex_);
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure("change");
  return {};
}

// A statement is out of the list while it runs: one that is begun again within itself, against the
// contract, gets a second statement rather than a wrong result.
Result<SqliteConnection::Statement> SqliteConnection::take(std::string_view sql) {
  if (const auto found = by_sql_.find(sql); found != by_sql_.end()) {
    const auto kept = found->second;
    Statement statement = std::move(kept->statement);
    by_sql_.erase(found);
    kept_.erase(kept);
    return statement;
  }
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK)
    return failure("ask");
  return Statement(made);
}

void SqliteConnection::keep(std::string_view sql, Statement statement) {
  if (statement == nullptr) return;  // the SQL was empty
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  if (by_sql_.contains(sql)) return;
  kept_.push_front({.sql = std::string(sql), .statement = std::move(statement)});
  by_sql_.emplace(kept_.front().sql, kept_.begin());
  if (kept_.size() > kStatementsMax) {
    by_sql_.erase(kept_.back().sql);
    kept_.pop_back();
  }
}

Result<void> SqliteConnection::run(std::string_view sql, std::span<const Value> values,
                                   const std::function<void(const DatabaseRow&)>& visit) {
  const std::scoped_lock lock(mutex_);
  Result<Statement> taken = take(sql);
  if (!taken) return taken.error();
  sqlite3_stmt* const statement = taken->get();
  Result<void> done;
  for (size_t i = 0; done && i < values.size(); ++i) {
    if (bind(statement, static_cast<int>(i) + 1, values[i]) != SQLITE_OK) done = failure("ask");
  }
  for (int code = SQLITE_ROW; done && code == SQLITE_ROW;) {
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW && visit) visit(DatabaseRow(statement));
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      done = failure(sqlite3_stmt_readonly(statement) != 0 ? "read" : "change");
  }
  keep(sql, *std::move(taken));
  return done;
}

int64_t SqliteConnection::rows_changed() const {
  return sqlite3_changes64(handle_);
}

bool SqliteConnection::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

}  // namespace windrow::store
