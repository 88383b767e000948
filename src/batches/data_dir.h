// The data folder: which file lies where, and the database that knows them.
//
//   DATA/windrow.db              files and batches (-wal, -shm: SQLite's)
//   DATA/files/file-ID           what was uploaded; file-ID.part while it is
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
  // Makes the folders that are missing and opens the database. What is damaged is put aside under
  // another name and said in `warnings`. kIo, kDiskFull, kConflict.
  static Result<std::unique_ptr<DataDir>> open(std::string root,
                                               std::vector<std::string>& warnings);

  // What people should know who run the server is told to `warn` from now on, by any thread. Before
  // others use it.
  void set_warn(std::function<void(const std::string&)> warn) { warn_ = std::move(warn); }

  // Of something in it that could not be read or written: tells it, not the same twice in a row,
  // and says what clients hear. Thread-safe.
  llm::Failure report(const Error& error);

  store::Database& database() const { return *database_; }

  // Of something that is named relative to the folder, as the database has it.
  std::string at(std::string_view relative) const { return root_ + "/" + std::string(relative); }

  const std::string& root() const { return root_; }

 private:
  DataDir(std::string root, std::unique_ptr<store::Database> database);

  const std::string root_;
  const std::unique_ptr<store::Database> database_;
  std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::string told_;  // last
};

// Relative to it.
std::string file_place(std::string_view file_id);
std::string batch_place(std::string_view batch_id);    // a folder
std::string results_place(std::string_view batch_id);  // results.jsonl in it
std::string errors_place(std::string_view batch_id);

inline constexpr std::string_view kPartEnding = ".part";

// "file-" or "batch_" and 32 digits that nobody can guess.
std::string new_file_id();
std::string new_batch_id();

}  // namespace windrow::batches
