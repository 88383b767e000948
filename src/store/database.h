// Database: a SQLite file, behind the few things that are asked of it. The one door to SQLite.
//
// Written ahead (WAL) and synced at each transaction, so what was committed survives a loss of
// power. Failures are values: a full disk is kDiskFull, a file that is none of SQLite's or damaged
// is kInvalid.
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

// NULL where there is nothing.
Value value_of(const std::optional<int64_t>& number);
Value value_of(const std::optional<std::string>& text);

// One row of an answer; good while its visitor runs. Columns are counted from 0.
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
  // Opens or makes the file at `path`, and brings it to the last of `versions`: statement lists in
  // SQL, of which the n-th makes version n of version n - 1. `path` + "-wal" and "-shm" belong to
  // it.
  //   kInvalid    no database, or damaged: every page is looked at, and that tables, columns and
  //               indexes have the names that `versions` give them
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

  // One statement, with a value for each "?" in it; how many rows it changed. kConflict where
  // a row stands in the way that there may be only one of.
  Result<int64_t> change(std::string_view sql, Values values = {});

  // Calls `visit` for each row of the answer; it must not ask the database anything.
  Result<void> ask(std::string_view sql, Values values, const Visit& visit);
  Result<void> ask(std::string_view sql, std::span<const Value> values, const Visit& visit);

  // All that `body` changes, or nothing: also when it fails, with its failure.
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

// The same; a file that is damaged is put aside first, under PATH.damaged-N, and a new one begun.
// Then `put_aside` is its new name.
struct OpenedDatabase {
  std::unique_ptr<Database> database;
  std::string put_aside;  // empty: it was well
  std::string why;
};
Result<OpenedDatabase> open_or_begin(const std::string& path,
                                     std::span<const std::string_view> versions);

}  // namespace windrow::store
