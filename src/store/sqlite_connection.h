// SqliteConnection: one connection to a SQLite file, with its prepared statements. Database and
// DatabaseReader are made of it; no other module includes this.
//
// Thread-safe: a recursive lock is held while a statement runs, and by the holder of lock().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "store/database_value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace windrow::store {

class SqliteConnection {
 public:
  // Opens `path` with the flags of sqlite3_open_v2.
  //   kInvalid   not a database, or damaged
  //   kNotFound  there is no such folder, or no such file and `flags` do not create one
  //   kDiskFull, kIo
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path, int flags);

  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  const std::string& path() const { return path_; }
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

  // Runs statements that give no rows and take no values; none is kept prepared.
  Result<void> execute(const std::string& sql);

  // Runs one statement and calls `visit` for each of its rows. The statement stays prepared for the
  // next call with the same text, among the last kStatementsMax.
  Result<void> run(std::string_view sql, std::span<const Value> values,
                   const std::function<void(const DatabaseRow&)>& visit);

  // Of the last statement that was run; call it under lock().
  int64_t rows_changed() const;

  // Whether BEGIN was run and neither COMMIT nor ROLLBACK has ended it. SQLite itself rolls back
  // after some failures, a full disk for one.
  bool in_transaction() const;

  size_t statements_kept() const { return kept_.size(); }

  static constexpr size_t kStatementsMax = 100;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
  struct Kept {
    std::string sql;
    Statement statement;
  };

  SqliteConnection(sqlite3* handle, std::string path);

  Error failure(std::string_view doing) const;
  Result<Statement> take(std::string_view sql);
  void keep(std::string_view sql, Statement statement);

  sqlite3* const handle_;
  const std::string path_;
  std::recursive_mutex mutex_;

  // Statements that are not running; the most recently used first.
  std::list<Kept> kept_;
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_sql_;  // keys are Kept::sql
};

}  // namespace windrow::store
