// Database: a SQLite file, reduced to the operations that Windrow uses. No other module uses
// SQLite.
//
// It has a write-ahead log that is synced at each transaction, so committed changes survive a power
// failure. Failures are values: a full disk is kDiskFull, a file that is damaged or not SQLite's is
// kInvalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace windrow::store {

// NULL, a number or a text (UTF-8, no zero bytes) of a row.
using Value = std::variant<std::monostate, int64_t, std::string>;

// NULL for an absent value.
Value value_of(const std::optional<int64_t>& number);
Value value_of(const std::optional<std::string>& text);

// A row of a result; valid while its visitor runs. Columns are counted from 0.
class DatabaseRow {
 public:
  explicit DatabaseRow(sqlite3_stmt* statement) : statement_(statement) {}

  bool is_null(int column) const;
  int64_t number(int column) const;
  std::string text(int column) const;  // empty for NULL
  std::optional<int64_t> number_or_none(int column) const;
  std::optional<std::string> text_or_none(int column) const;

 private:
  sqlite3_stmt* statement_;
};

// Thread-safe: one statement or transaction at a time.
class Database {
 public:
  // Opens or creates the file at `path`, and migrates it to the last of `versions`: lists of SQL
  // statements, of which the n-th turns version n - 1 into version n. `path` + "-wal" and "-shm"
  // belong to it.
  //   kInvalid    not a database, or damaged: every page is checked, and the names of tables,
  //   columns
  //               and indexes are compared with `versions`
  //   kConflict   it is of a later version, or another process writes to it
  //   kNotFound   there is no such folder
  //   kDiskFull, kIo
  static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                std::span<const std::string_view> versions);

  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  using Values = std::initializer_list<Value>;
  using Visit = std::function<void(const DatabaseRow&)>;

  // Runs one statement, with a value for each "?" in it, and returns how many rows it changed.
  // kConflict for a violated uniqueness constraint.
  Result<int64_t> change(std::string_view sql, Values values = {});

  // Runs a query and calls `visit` for each row; `visit` must not use the database.
  Result<void> ask(std::string_view sql, Values values, const Visit& visit);
  Result<void> ask(std::string_view sql, std::span<const Value> values, const Visit& visit);

  // Runs `body` as a transaction: commits if it succeeds, else rolls back and returns its failure.
  Result<void> transaction(const std::function<Result<void>()>& body);

 private:
  Database(sqlite3* handle, std::string path);

  Error failure(std::string_view doing) const;
  Result<void> execute(const char* sql);
  Result<void> begin(std::span<const std::string_view> versions);
  Result<std::set<std::string>> schema_parts();
  Result<void> check_schema(std::span<const std::string_view> versions);
  Result<void> step_through(std::string_view sql, std::span<const Value> values,
                            const Visit& visit);

  sqlite3* const handle_;
  const std::string path_;
  std::recursive_mutex mutex_;
};

// As Database::open, but a damaged file is renamed to PATH.damaged-N first, and a new one is
// created. Then `put_aside` is its new name, and `why` what was wrong.
struct OpenedDatabase {
  std::unique_ptr<Database> database;
  std::string put_aside;  // empty: the file was good
  std::string why;
};
Result<OpenedDatabase> open_or_begin(const std::string& path,
                                     std::span<const std::string_view> versions);

}  // namespace windrow::store
