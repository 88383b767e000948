#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace windrow::store {

Database::Database(std::unique_ptr<SqliteConnection> connection, Durability durability)
    : connection_(std::move(connection)), durability_(durability) {}

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
  Result<std::unique_ptr<SqliteConnection>> memory =
      SqliteConnection::open(":memory:", SQLITE_OPEN_READWRITE);
  if (!memory) return memory.error();
  Database fresh(*std::move(memory), durability_);
  for (const std::string_view version : versions) {
    if (Result<void> made = fresh.connection_->execute(std::string(version)); !made) return made;
  }
  const Result<std::set<std::string>> wanted = fresh.schema_parts();
  if (!wanted) return wanted.error();
  const Result<std::set<std::string>> found = schema_parts();
  if (!found) return found.error();
  for (const std::string& part : *wanted) {
    if (!found->contains(part)) {
      return Error{ErrorKind::kInvalid, fmt::format("{} is damaged: its schema lacks the {}",
                                                    connection_->path(), part)};
    }
  }
  return {};
}

Result<int64_t> Database::change(std::string_view sql, Values values) {
  return change(sql, std::span(values.begin(), values.size()));
}

Result<int64_t> Database::change(std::string_view sql, std::span<const Value> values) {
  const auto lock = connection_->lock();
  if (!connection_->in_transaction()) {
    if (Result<void> told = commit_with(durability_); !told) return told.error();
  }
  if (Result<void> done = connection_->run(sql, values, nullptr); !done) return done.error();
  return connection_->rows_changed();
}

Result<void> Database::ask(std::string_view sql, Values values, const Visit& visit) {
  return connection_->run(sql, {values.begin(), values.size()}, visit);
}

Result<void> Database::ask(std::string_view sql, std::span<const Value> values,
                           const Visit& visit) {
  return connection_->run(sql, values, visit);
}

// Under the connection's lock, outside of transactions. SQLite obeys this pragma when it reads it,
// so the statement is not one of those that are kept prepared.
Result<void> Database::commit_with(Durability durability) {
  if (commits_with_ == durability) return {};
  Result<void> told = connection_->execute(fmt::format(
      "PRAGMA synchronous = {}", durability == Durability::kPowerLoss ? "FULL" : "NORMAL"));
  if (told) commits_with_ = durability;
  return told;
}

Result<void> Database::transaction(const std::function<Result<void>()>& body) {
  return transaction(body, durability_);
}

Result<void> Database::transaction(const std::function<Result<void>()>& body,
                                   Durability durability) {
  const auto lock = connection_->lock();
  if (Result<void> told = commit_with(durability); !told) return told;
  if (Result<void> begun = connection_->run("BEGIN IMMEDIATE", {}, nullptr); !begun) return begun;
  ended_by_.reset();
  Result<void> done = body();
  if (done && !connection_->in_transaction()) done = transaction_ended();
  if (done) done = connection_->run("COMMIT", {}, nullptr);
  // Some failures have ended the transaction already.
  if (!done && connection_->in_transaction()) (void)connection_->run("ROLLBACK", {}, nullptr);
  return done;
}

// Under the connection's lock, where SQLite has ended a transaction.
Error Database::transaction_ended() const {
  if (ended_by_) return *ended_by_;
  return Error{ErrorKind::kIo,
               fmt::format("cannot change {}: the transaction has ended", connection_->path())};
}

Result<void> Database::part_of_transaction(const std::function<Result<void>()>& body) {
  const auto lock = connection_->lock();
  if (!connection_->in_transaction()) return transaction_ended();
  Result<void> done = connection_->run("SAVEPOINT part", {}, nullptr);
  if (done) {
    done = body();
    if (!done && connection_->in_transaction())
      (void)connection_->run("ROLLBACK TO part", {}, nullptr);
    if (connection_->in_transaction()) {
      const Result<void> released = connection_->run("RELEASE part", {}, nullptr);
      if (done) done = released;
    }
  }
  if (connection_->in_transaction()) return done;
  if (!done) ended_by_ = done.error();
  return done ? Result<void>(transaction_ended()) : done;
}

Result<std::unique_ptr<DatabaseReader>> Database::reader() const {
  Result<std::unique_ptr<SqliteConnection>> connection =
      SqliteConnection::open(connection_->path(), SQLITE_OPEN_READONLY);
  if (!connection) return connection.error();
  return std::unique_ptr<DatabaseReader>(new DatabaseReader(*std::move(connection)));
}

Result<void> Database::check_pages() {
  std::string found;
  if (Result<void> checked =
          ask("PRAGMA quick_check(1)", {}, [&](const DatabaseRow& row) { found = row.text(0); });
      !checked)
    return checked;
  if (found != "ok")
    return Error{ErrorKind::kInvalid, fmt::format("{} is damaged: {}", connection_->path(), found)};
  return {};
}

Result<void> Database::migrate(std::span<const std::string_view> versions) {
  int64_t version = 0;
  if (Result<void> read =
          ask("PRAGMA user_version", {}, [&](const DatabaseRow& row) { version = row.number(0); });
      !read)
    return read;
  if (version > static_cast<int64_t>(versions.size())) {
    return Error{ErrorKind::kConflict,
                 fmt::format("{} was written by a later version of this program (its form is {}, "
                             "the last one known here is {}); use that version",
                             connection_->path(), version, versions.size())};
  }
  for (auto next = static_cast<size_t>(version); next < versions.size(); ++next) {
    Result<void> made = transaction([&]() -> Result<void> {
      if (Result<void> done = connection_->execute(std::string(versions[next])); !done) return done;
      return connection_->execute(fmt::format("PRAGMA user_version = {}", next + 1));
    });
    if (!made) return made;
  }
  return {};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path,
                                                 std::span<const std::string_view> versions,
                                                 const DatabaseOptions& options) {
  // SQLite removes the log when the last connection closes.
  std::error_code ignored;
  const bool unclean = std::filesystem::exists(path + "-wal", ignored);
  Result<std::unique_ptr<SqliteConnection>> connection =
      SqliteConnection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!connection) return connection.error();
  auto database =
      std::unique_ptr<Database>(new Database(*std::move(connection), options.durability));
  Result<void> done =
      database->connection_->execute("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON");
  if (done) done = database->commit_with(options.durability);
  if (done && (unclean || options.check == OpenCheck::kEveryPage)) done = database->check_pages();
  if (done) done = database->migrate(versions);
  if (done) done = database->check_schema(versions);
  if (!done) return done.error();
  return database;
}

// --- DatabaseReader ---------------------------------------------------------------------------

DatabaseReader::DatabaseReader(std::unique_ptr<SqliteConnection> connection)
    : connection_(std::move(connection)) {}

Result<void> DatabaseReader::ask(std::string_view sql, Database::Values values,
                                 const Database::Visit& visit) {
  return connection_->run(sql, {values.begin(), values.size()}, visit);
}

Result<void> DatabaseReader::ask(std::string_view sql, std::span<const Value> values,
                                 const Database::Visit& visit) {
  return connection_->run(sql, values, visit);
}

Result<void> DatabaseReader::snapshot(const std::function<Result<void>()>& body) {
  const auto lock = connection_->lock();
  if (Result<void> begun = connection_->run("BEGIN", {}, nullptr); !begun) return begun;
  const Result<void> done = body();
  if (connection_->in_transaction()) (void)connection_->run("COMMIT", {}, nullptr);
  return done;
}

Result<OpenedDatabase> open_or_begin(const std::string& path,
                                     std::span<const std::string_view> versions,
                                     const DatabaseOptions& options) {
  Result<std::unique_ptr<Database>> opened = Database::open(path, versions, options);
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
  Result<std::unique_ptr<Database>> begun = Database::open(path, versions, options);
  if (!begun) return begun.error();
  return OpenedDatabase{
      .database = *std::move(begun), .put_aside = aside, .why = opened.error().message};
}

}  // namespace windrow::store
