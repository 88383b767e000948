// DataDir: the data folder of a server: its files and its database.
//
//   DATA/windrow.db              files and batches (-wal, -shm: SQLite's)
//   DATA/files/file-ID           uploaded files; file-ID.part during the upload
//   DATA/batches/batch_ID/       the logs of a batch, as `windrow run -o results.jsonl` writes them
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "llm/answer.h"
#include "store/database.h"
#include "store/disk.h"

namespace windrow::batches {

class DataDir {
 public:
  // Creates missing folders and opens the database. A damaged database is renamed and replaced by a
  // new one, and `warnings` says so. kIo, kDiskFull; kConflict: another server uses the folder.
  static Result<std::unique_ptr<DataDir>> open(std::string root,
                                               std::vector<std::string>& warnings);

  // Sets the function that gets messages for the operator, on any thread. Before other methods.
  void set_warn(std::function<void(const std::string&)> warn) { warn_ = std::move(warn); }

  // Reports a failed read or write to the operator, unless it repeats the last report, and returns
  // the failure for clients: 507 or 500. Thread-safe.
  llm::Failure report(const Error& error);

  store::Database& database() const { return *database_; }

  // The full path of a path relative to the folder, as in the database.
  std::string at(std::string_view relative) const { return root_ + "/" + std::string(relative); }

  const std::string& root() const { return root_; }

 private:
  DataDir(std::string root, std::unique_ptr<store::Database> database);

  const std::string root_;
  const std::unique_ptr<store::Database> database_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::string last_reported_;
};

// Paths relative to the folder.
std::string file_path(std::string_view file_id);
std::string batch_folder(std::string_view batch_id);  // a folder
std::string results_path(std::string_view batch_id);  // results.jsonl in it
std::string errors_path(std::string_view batch_id);

inline constexpr std::string_view kPartEnding = ".part";

// "file-" or "batch_" and 32 hexadecimal digits that cannot be guessed.
std::string new_file_id();
std::string new_batch_id();

}  // namespace windrow::batches
