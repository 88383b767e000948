#include "batches/data_dir.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/secret.h"

namespace windrow::batches {
namespace {

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

}  // namespace

std::string file_place(std::string_view file_id) {
  return fmt::format("files/{}", file_id);
}

std::string batch_place(std::string_view batch_id) {
  return fmt::format("batches/{}", batch_id);
}

std::string results_place(std::string_view batch_id) {
  return fmt::format("batches/{}/results.jsonl", batch_id);
}

std::string errors_place(std::string_view batch_id) {
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

Result<std::unique_ptr<DataDir>> DataDir::open(std::string root,
                                               std::vector<std::string>& warnings) {
  for (const std::string_view folder : {"files", "batches"}) {
    const std::string path = fmt::format("{}/{}", root, folder);
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error || !std::filesystem::is_directory(path, error)) {
      return Error{ErrorKind::kIo, fmt::format("the folder {} cannot be made: {}", path,
                                               error ? error.message() : "a file has this name")};
    }
  }
  Result<store::OpenedDatabase> opened =
      store::open_or_begin(fmt::format("{}/windrow.db", root), kVersions);
  if (!opened) return opened.error();
  if (!opened->put_aside.empty()) {
    warnings.push_back(fmt::format(
        "{}; it was put aside as {} and a new one begun: files and batches of before are not "
        "listed any more, their bytes stay in {}",
        opened->why, opened->put_aside, root));
  }
  return std::unique_ptr<DataDir>(new DataDir(std::move(root), std::move(opened->database)));
}

}  // namespace windrow::batches
