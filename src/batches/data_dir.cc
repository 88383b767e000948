#include "batches/data_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/crypto.h"
#include "base/format.h"
#include "batches/reply.h"

namespace windrow::batches {
namespace {

namespace fs = std::filesystem;

constexpr auto kVersions = std::to_array<std::string_view>({
    R"(
CREATE TABLE files (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  owner      TEXT NOT NULL,
  filename   TEXT NOT NULL,
  purpose    TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  place      TEXT NOT NULL
);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE batches (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  id              TEXT NOT NULL UNIQUE,
  owner           TEXT NOT NULL,
  idempotency_key TEXT,
  input_file_id   TEXT NOT NULL,
  status          TEXT NOT NULL,
  record          TEXT NOT NULL,
  UNIQUE (owner, idempotency_key)
);
CREATE INDEX batches_by_status ON batches (status);
)",
});

constexpr size_t kIdBytes = 16;

std::string unguessable() {
  std::string text;
  for (const char byte : secret_bytes(kIdBytes))
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// The folder has the prompts and answers of all clients.
Result<void> make_private(const std::string& path) {
  std::error_code error;
  if (fs::create_directories(path, error))
    fs::permissions(path, fs::perms::owner_all, fs::perm_options::replace, error);
  if (error || !fs::is_directory(path, error)) {
    return Error{ErrorKind::kIo, fmt::format("the folder {} cannot be made: {}", path,
                                             error ? error.message() : "a file has this name")};
  }
  return {};
}

// SQLite gives its other files the permissions of this one.
void make_database_private(const std::string& path) {
  constexpr mode_t kForItsOwner = 0600;
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kForItsOwner);
  // Otherwise it exists already, or opening it will report the error.
  if (fd >= 0) ::close(fd);
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", with_thousands(count), what, count == 1 ? "" : "s");
}

// How many entries of a folder are not in the table.
Result<int64_t> count_unknown(store::Database& database, const std::string& folder,
                              std::string_view table) {
  std::set<std::string> known;
  const Result<void> asked =
      database.ask(fmt::format("SELECT id FROM {}", table), {},
                   [&](const store::DatabaseRow& row) { known.insert(row.text(0)); });
  if (!asked) return asked.error();
  int64_t unknown = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kPartEnding) && !known.contains(name)) ++unknown;
  }
  if (error) {
    return Error{ErrorKind::kIo,
                 fmt::format("cannot read the folder {}: {}", folder, error.message())};
  }
  return unknown;
}

// Warns if the folder has files that its database does not know: the database is gone or another
// one.
Result<void> warn_about_unknown(store::Database& database, const std::string& root,
                                std::vector<std::string>& warnings) {
  const Result<int64_t> files = count_unknown(database, root + "/files", "files");
  if (!files) return files.error();
  const Result<int64_t> batches = count_unknown(database, root + "/batches", "batches");
  if (!batches) return batches.error();
  if (*files + *batches == 0) return {};
  warnings.push_back(fmt::format(
      "{0}/windrow.db does not list {1} in {0}/files and {2} in {0}/batches: they are neither "
      "shown nor counted; restore the database that lists them, or remove them",
      root, counted(*files, "file"), counted(*batches, "folder")));
  return {};
}

}  // namespace

std::string file_path(std::string_view file_id) {
  return fmt::format("files/{}", file_id);
}

std::string batch_folder(std::string_view batch_id) {
  return fmt::format("batches/{}", batch_id);
}

std::string results_path(std::string_view batch_id) {
  return fmt::format("batches/{}/results.jsonl", batch_id);
}

std::string errors_path(std::string_view batch_id) {
  return fmt::format("batches/{}/results.errors.jsonl", batch_id);
}

std::string new_file_id() {
  return "file-" + unguessable();
}

std::string new_batch_id() {
  return "batch_" + unguessable();
}

DataDir::DataDir(std::string root, std::unique_ptr<store::Database> database)
    : root_(std::move(root)), database_(std::move(database)) {}

llm::Failure DataDir::report(const Error& error) {
  {
    const std::scoped_lock lock(mutex_);
    if (warn_ && std::exchange(last_reported_, error.message) != error.message)
      warn_(fmt::format("files and batches: {}", error.message));
  }
  return of_storage(error);
}

Result<std::unique_ptr<DataDir>> DataDir::open(std::string root,
                                               std::vector<std::string>& warnings) {
  for (const std::string& path : {root, root + "/files", root + "/batches"}) {
    if (Result<void> made = make_private(path); !made) return made.error();
  }
  const std::string path = root + "/windrow.db";
  make_database_private(path);
  Result<store::OpenedDatabase> opened = store::open_or_begin(path, kVersions);
  if (!opened) return opened.error();
  if (!opened->put_aside.empty()) {
    warnings.push_back(fmt::format(
        "{}; it was put aside as {} and a new one was created: earlier files and batches are not "
        "listed any more, their bytes stay in {}",
        opened->why, opened->put_aside, root));
  } else if (Result<void> looked = warn_about_unknown(*opened->database, root, warnings); !looked) {
    return looked.error();
  }
  return std::unique_ptr<DataDir>(new DataDir(std::move(root), std::move(opened->database)));
}

}  // namespace windrow::batches
