#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace windrow::store {
namespace {

// How long a statement waits for another process that has the file open, a backup for one.
constexpr int kBusyMs = 5000;

ErrorKind kind_of(int code) {
  constexpr int kPrimary = 0xFF;
  switch (code & kPrimary) {
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

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

int bind(sqlite3_stmt* statement, int place, const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value))
    return sqlite3_bind_int64(statement, place, *number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    // The bound values outlive the statement.
    return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, place);
}

}  // namespace

Value value_of(const std::optional<int64_t>& number) {
  return number ? Value(*number) : Value();
}

Value value_of(const std::optional<std::string>& text) {
  return text ? Value(*text) : Value();
}

// --- DatabaseRow ------------------------------------------------------------------------------

bool DatabaseRow::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t DatabaseRow::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string DatabaseRow::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return {reinterpret_cast<const char*>(text), size};
}

std::optional<int64_t> DatabaseRow::number_or_none(int column) const {
  return is_null(column) ? std::nullopt : std::optional(number(column));
}

std::optional<std::string> DatabaseRow::text_or_none(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}

// --- Database ---------------------------------------------------------------------------------

Database::Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

Database::~Database() {
  sqlite3_close_v2(handle_);
}

// The schema as text, one line for each table, column and index. In lower case, as SQLite
// compares names.
Result<std::set<std::string>> Database::schema_parts() {
  std::set<std::string> parts;
  const Result<void> asked =
      ask("SELECT lower(type || ' ' || name) FROM sqlite_schema UNION ALL "
          "SELECT lower('column ' || t.name || '.' || c.name || ' ' || c.type) "
          "FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
          {}, [&](const DatabaseRow& row) { parts.insert(row.text(0)); });
  if (!asked) return asked.error();
  return parts;
}

Result<void> Database::check_schema(std::span<const std::string_view> versions) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database fresh(handle, ":memory:");
  if (code != SQLITE_OK) return fresh.failure("open");
  for (const std::string_view version : versions) {
    if (Result<void> made = fresh.execute(std::string(version).c_str()); !made) return made;
  }
  const Result<std::set<std::string>> wanted = fresh.schema_parts();
  if (!wanted) return wanted.error();
  const Result<std::set<std::string>> found = schema_parts();
  if (!found) return found.error();
  for (const std::string& part : *wanted) {
    if (!found->contains(part)) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{} is damaged: its schema lacks the {}", path_, part)};
    }
  }
  return {};
}

Error Database::failure(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(handle_);
  return Error{kind_of(code),
               fmt::format("cannot {} {}: {}", doing, path_, sqlite3_errmsg(handle_))};
}

Result<void> Database::execute(const char* sql) {
  const std::scoped_lock lock(mutex_);
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure("change");
  return {};
}

Result<void> Database::step_through(std::string_view sql, std::span<const Value> values,
                                    const Visit& visit) {
  const std::scoped_lock lock(mutex_);
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &made, nullptr) !=
      SQLITE_OK)
    return failure("ask");
  const Statement statement(made);
  for (size_t i = 0; i < values.size(); ++i) {
    if (bind(made, static_cast<int>(i) + 1, values[i]) != SQLITE_OK) return failure("ask");
  }
  for (;;) {
    const int code = sqlite3_step(made);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return failure(sqlite3_stmt_readonly(made) != 0 ? "read" : "change");
    if (visit) visit(DatabaseRow(made));
  }
}

Result<int64_t> Database::change(std::string_view sql, Values values) {
  const std::scoped_lock lock(mutex_);
  if (Result<void> done = step_through(sql, {values.begin(), values.size()}, nullptr); !done)
    return done.error();
  return sqlite3_changes64(handle_);
}

Result<void> Database::ask(std::string_view sql, Values values, const Visit& visit) {
  return step_through(sql, {values.begin(), values.size()}, visit);
}

Result<void> Database::ask(std::string_view sql, std::span<const Value> values,
                           const Visit& visit) {
  return step_through(sql, values, visit);
}

Result<void> Database::transaction(const std::function<Result<void>()>& body) {
  const std::scoped_lock lock(mutex_);
  if (Result<void> begun = execute("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> done = body();
  if (done) done = execute("COMMIT");
  // Some failures have ended the transaction already.
  if (!done && sqlite3_get_autocommit(handle_) == 0)
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

Result<void> Database::begin(std::span<const std::string_view> versions) {
  sqlite3_busy_timeout(handle_, kBusyMs);
  if (Result<void> set = execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                 "PRAGMA foreign_keys = ON");
      !set)
    return set;
  std::string found;
  if (Result<void> checked =
          ask("PRAGMA quick_check(1)", {}, [&](const DatabaseRow& row) { found = row.text(0); });
      !checked)
    return checked;
  if (found != "ok")
    return Error{ErrorKind::kInvalid, fmt::format("{} is damaged: {}", path_, found)};

  int64_t version = 0;
  if (Result<void> read =
          ask("PRAGMA user_version", {}, [&](const DatabaseRow& row) { version = row.number(0); });
      !read)
    return read;
  if (version > static_cast<int64_t>(versions.size())) {
    return Error{ErrorKind::kConflict,
                 fmt::format("{} was written by a later version of this program (its form is {}, "
                             "the last one known here is {}); use that version",
                             path_, version, versions.size())};
  }
  for (auto next = static_cast<size_t>(version); next < versions.size(); ++next) {
    Result<void> made = transaction([&]() -> Result<void> {
      if (Result<void> done = execute(std::string(versions[next]).c_str()); !done) return done;
      return execute(fmt::format("PRAGMA user_version = {}", next + 1).c_str());
    });
    if (!made) return made;
  }
  return check_schema(versions);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path,
                                                 std::span<const std::string_view> versions) {
  sqlite3* handle = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, kFlags, nullptr);
  // There is a handle also where it failed, to be asked why and to be closed.
  auto database = std::unique_ptr<Database>(new Database(handle, path));
  if (code != SQLITE_OK) {
    Error error = database->failure("open");
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::path(path).parent_path(), ignored))
      error.kind = ErrorKind::kNotFound;
    return error;
  }
  if (Result<void> begun = database->begin(versions); !begun) return begun.error();
  return database;
}

Result<OpenedDatabase> open_or_begin(const std::string& path,
                                     std::span<const std::string_view> versions) {
  Result<std::unique_ptr<Database>> opened = Database::open(path, versions);
  if (opened) return OpenedDatabase{.database = *std::move(opened), .put_aside = {}, .why = {}};
  if (opened.error().kind != ErrorKind::kInvalid) return opened.error();

  namespace fs = std::filesystem;
  std::error_code error;
  int n = 1;
  while (fs::exists(fmt::format("{}.damaged-{}", path, n), error))
    ++n;
  const std::string aside = fmt::format("{}.damaged-{}", path, n);
  for (const std::string_view ending : {"-wal", "-shm", ""}) {
    const std::string from = fmt::format("{}{}", path, ending);
    if (!fs::exists(from, error)) continue;
    fs::rename(from, fmt::format("{}{}", aside, ending), error);
    if (error) {
      return Error{ErrorKind::kIo, fmt::format("{}; it cannot be put aside as {}: {}",
                                               opened.error().message, aside, error.message())};
    }
  }
  Result<std::unique_ptr<Database>> begun = Database::open(path, versions);
  if (!begun) return begun.error();
  return OpenedDatabase{
      .database = *std::move(begun), .put_aside = aside, .why = opened.error().message};
}

}  // namespace windrow::store
