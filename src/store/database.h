// Database: a SQLite file, reduced to the operations that Windrow uses. No other module uses
// SQLite.
//
// It has a write-ahead log. Committed changes survive a crash of the process, and with
// Durability::kPowerLoss also a power failure. Failures are values: a full disk is kDiskFull, a
// file that is damaged or not SQLite's is kInvalid.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database_value.h"
#include "store/sqlite_connection.h"

namespace windrow::store {

// What committed changes survive. In each case the file is whole afterwards.
enum class Durability : uint8_t {
  kPowerLoss,    // a power failure: the log is synced at each commit
  kProcessCrash  // the end of the process in any way; a power failure may undo the last commits
};

// What is read when a database is opened, to find damage before it spreads. The schema is compared
// with the versions in any case.
enum class OpenCheck : uint8_t {
  kEveryPage,          // takes as long as reading the file
  kEveryPageIfUnclean  // only if the last process that had it open did not close it
};

struct DatabaseOptions {
  // Of changes for which nothing else is said.
  Durability durability = Durability::kPowerLoss;
  OpenCheck check = OpenCheck::kEveryPage;
};

class DatabaseReader;

// Thread-safe: one statement or transaction at a time. All calls may block on the disk.
class Database {
 public:
  // Opens or creates the file at `path`, and migrates it to the last of `versions`: lists of SQL
  // statements, of which the n-th turns version n - 1 into version n. `path` + "-wal" and "-shm"
  // belong to it.
  //   kInvalid    not a database, or damaged: its pages are checked as `options` say, and the names
  //               of tables, columns and indexes are compared with `versions`
  //   kConflict   it is of a later version, or another process writes to it
  //   kNotFound   there is no such folder
  //   kDiskFull, kIo
  static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                std::span<const std::string_view> versions,
                                                const DatabaseOptions& options = {});

  using Values = std::initializer_list<Value>;
  using Visit = std::function<void(const DatabaseRow&)>;

  // Runs one statement, with a value for each "?" in it, and returns how many rows it changed.
  // kConflict for a violated uniqueness constraint.
  Result<int64_t> change(std::string_view sql, Values values = {});
  Result<int64_t> change(std::string_view sql, std::span<const Value> values);

  // Runs a query and calls `visit` for each row; `visit` must not use the database.
  Result<void> ask(std::string_view sql, Values values, const Visit& visit);
  Result<void> ask(std::string_view sql, std::span<const Value> values, const Visit& visit);

  // Runs `body` as a transaction: commits if it succeeds, else rolls back and returns its failure.
  Result<void> transaction(const std::function<Result<void>()>& body);

  // The same with another durability. A commit that survives a power failure makes all commits
  // before it survive it, too: the log is one.
  Result<void> transaction(const std::function<Result<void>()>& body, Durability durability);

  // What the options said.
  Durability durability() const { return durability_; }

  // Runs `body` as a part of the transaction in which this is called: what it changed is undone
  // alone if it fails. Some failures make SQLite end the whole transaction, a full disk for one:
  // then its further parts are not run, and they and the transaction fail with that failure, too.
  Result<void> part_of_transaction(const std::function<Result<void>()>& body);

  // A further connection, which only reads and never waits for a writer. It may outlive this.
  Result<std::unique_ptr<DatabaseReader>> reader() const;

 private:
  Database(std::unique_ptr<SqliteConnection> connection, Durability durability);

  Result<void> commit_with(Durability durability);
  Error transaction_ended() const;
  Result<void> check_pages();
  Result<void> migrate(std::span<const std::string_view> versions);
  Result<std::set<std::string>> schema_parts();
  Result<void> check_schema(std::span<const std::string_view> versions);

  const std::unique_ptr<SqliteConnection> connection_;
  const Durability durability_;

  // Under the connection's lock.
  std::optional<Durability> commits_with_;  // what SQLite was told
  std::optional<Error> ended_by_;           // the failure of a part that ended the transaction
};

// Reads a Database beside its writer. Each query sees the last commit before it began.
// Thread-safe: one query or snapshot at a time; take a reader for each thread that shall not wait.
class DatabaseReader {
 public:
  // As Database::ask.
  Result<void> ask(std::string_view sql, Database::Values values, const Database::Visit& visit);
  Result<void> ask(std::string_view sql, std::span<const Value> values,
                   const Database::Visit& visit);

  // All queries of `body` see one state. Keep it short: the log cannot be written back beyond what
  // it reads. Returns the failure of `body`.
  Result<void> snapshot(const std::function<Result<void>()>& body);

 private:
  friend class Database;
  explicit DatabaseReader(std::unique_ptr<SqliteConnection> connection);

  const std::unique_ptr<SqliteConnection> connection_;
};

// As Database::open, but a damaged file is renamed to PATH.damaged-N first, and a new one is
// created. Then `put_aside` is its new name, and `why` what was wrong.
struct OpenedDatabase {
  std::unique_ptr<Database> database;
  std::string put_aside;  // empty: the file was good
  std::string why;
};
Result<OpenedDatabase> open_or_begin(const std::string& path,
                                     std::span<const std::string_view> versions,
                                     const DatabaseOptions& options = {});

}  // namespace windrow::store
