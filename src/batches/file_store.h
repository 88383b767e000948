// FileStore: the files that clients uploaded and that batches made. Their bytes are in the data
// folder, everything else about them in its database; a file exists once its row does.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "batches/data_dir.h"
#include "batches/reply.h"
#include "store/disk.h"

namespace windrow::batches {

struct StoredFile {
  std::string id;
  std::string owner;
  std::string filename;
  std::string purpose;  // "batch", "batch_output"
  int64_t bytes = 0;
  int64_t created_at = 0;  // seconds since 1970
  std::optional<int64_t> expires_at;
  std::string path;  // for DataDir::at

  friend bool operator==(const StoredFile&, const StoredFile&) = default;
};

// The fields of an upload besides the file.
struct UploadForm {
  std::string filename;
  std::string purpose;
  std::optional<std::string> expires_anchor;
  std::optional<std::string> expires_seconds;
};

struct FileQuery {
  std::string after;  // an id; empty: start at the beginning
  int64_t limit = 10'000;
  bool ascending = false;
  std::string purpose;  // empty: all
};

struct FilePage {
  std::vector<StoredFile> files;
  bool has_more = false;
};

struct FileLimits {
  int64_t file_bytes_max = 0;
  int64_t total_bytes_max = 0;  // of all files together; 0: no limit
};

struct FileTotals {
  int64_t files = 0;
  int64_t bytes = 0;
};

struct FileContent {
  StoredFile file;
  std::unique_ptr<store::ReadFile> bytes;
};

// Thread-safe. Methods may wait for the disk unless they say otherwise.
class FileStore {
 public:
  // Completes uploads whose row was written before a crash, and removes unfinished ones. `data`,
  // `disk` and `clock` outlive it. kIo, kDiskFull.
  static Result<std::unique_ptr<FileStore>> open(DataDir& data, store::Disk& disk,
                                                 const Clock& clock, FileLimits limits);

  // An upload in progress. Used by one thread at a time. Destroying it before finish() removes it.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // 413 file_too_large; 507 if the disk or FileLimits::total_bytes_max is full.
    Reply<std::monostate> append(std::string_view bytes);

    // Makes the bytes durable and the upload a file. 400 for an invalid field, which it names.
    Reply<StoredFile> finish(const Viewer& owner, const UploadForm& form);

    int64_t bytes() const { return bytes_; }

   private:
    friend class FileStore;
    Upload(FileStore& store, std::string id, std::unique_ptr<store::AppendFile> file);

    FileStore& store_;
    const std::string id_;
    std::unique_ptr<store::AppendFile> file_;  // null: finished
    int64_t bytes_ = 0;
  };

  Reply<std::unique_ptr<Upload>> begin_upload();

  // Why an upload of this size would fail; nullopt if it may begin. Does not block.
  std::optional<llm::Failure> refuse_bytes(int64_t bytes) const;

  Reply<StoredFile> get(const Viewer& viewer, std::string_view id);
  Reply<FilePage> list(const Viewer& viewer, const FileQuery& query);

  // A file that is deleted afterwards can still be read to its end. 404 file_bytes_missing if the
  // bytes were removed by hand.
  Reply<FileContent> open_content(const Viewer& viewer, std::string_view id);

  // 400 file_in_use while an unfinished batch reads it.
  Reply<std::monostate> remove(const Viewer& viewer, std::string_view id);

  // --- for batches ---

  // As open_content, for the input of an unfinished batch, which exists even if it has expired.
  Reply<FileContent> open_input(std::string_view id);

  // Adds the row of a file that a batch made, with its bytes at `path` already. Call it within a
  // transaction, and add_to_totals() after that has succeeded.
  Result<StoredFile> add_output(const std::string& owner, const std::string& filename,
                                const std::string& path, int64_t bytes,
                                std::optional<int64_t> kept_s);
  void add_to_totals(int64_t files, int64_t bytes);

  // Deletes expired files that no unfinished batch reads. Returns how many.
  Result<int64_t> remove_expired();

  // Includes uploads in progress. Does not block.
  FileTotals totals() const;

 private:
  FileStore(DataDir& data, store::Disk& disk, const Clock& clock, FileLimits limits);

  Result<void> recover_uploads();
  Result<std::optional<StoredFile>> find(std::string_view id);
  Reply<FileContent> open_bytes(StoredFile file);
  Result<void> insert(const StoredFile& file);
  Result<bool> is_in_use(std::string_view id);
  Result<bool> delete_file(const StoredFile& file);
  Result<bool> delete_unless_used(const StoredFile& file);
  bool reserve(int64_t bytes);
  void release(int64_t bytes);

  DataDir& data_;
  store::Disk& disk_;
  const Clock& clock_;
  const FileLimits limits_;

  mutable std::mutex mutex_;
  int64_t total_files_ = 0;
  int64_t total_bytes_ = 0;  // with uploads in progress
};

}  // namespace windrow::batches
