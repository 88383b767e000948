// FileStore: files that clients uploaded and files that batches made. Their bytes lie in the data
// folder, what is known of them in its database; a file is there once its row is.
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
  std::string place;  // DataDir::at

  friend bool operator==(const StoredFile&, const StoredFile&) = default;
};

// What the form of an upload says beside the file.
struct UploadForm {
  std::string filename;
  std::string purpose;
  std::optional<std::string> expires_anchor;
  std::optional<std::string> expires_seconds;
};

struct FileQuery {
  std::string after;  // an id; empty: from the beginning
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
  int64_t total_bytes_max = 0;  // of all files together; 0: none
};

// How much there is.
struct FileTotals {
  int64_t files = 0;
  int64_t bytes = 0;
};

struct FileContent {
  StoredFile file;
  std::unique_ptr<store::ReadFile> bytes;
};

// Thread-safe. Every method may wait for the disk.
class FileStore {
 public:
  // Brings uploads to an end that a crash left between two steps, and forgets those it cut off.
  // `data`, `disk` and `clock` outlive it. kIo, kDiskFull.
  static Result<std::unique_ptr<FileStore>> open(DataDir& data, store::Disk& disk,
                                                 const Clock& clock, FileLimits limits);

  // Bytes that arrive. Used by one thread at a time; what is not finished is gone with it.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // 413 file_too_large, 507 when the disk or what may be kept is full.
    Reply<std::monostate> append(std::string_view bytes);

    // Its bytes are safe and it is a file. 400 for a form that cannot be, naming the field.
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

  // Why one of so many bytes need not begin. Waits for nobody.
  std::optional<llm::Failure> refuse_bytes(int64_t bytes) const;

  Reply<StoredFile> get(const Viewer& viewer, std::string_view id);
  Reply<FilePage> list(const Viewer& viewer, const FileQuery& query);

  // A file that is deleted meanwhile can be read to its end. 404 with code file_bytes_missing where
  // somebody took the bytes away.
  Reply<FileContent> open_content(const Viewer& viewer, std::string_view id);

  // 400 file_in_use while a batch that has not ended reads it.
  Reply<std::monostate> remove(const Viewer& viewer, std::string_view id);

  // --- for batches ---

  // Of a batch that has not ended, so it is there even when its own time is over. As open_content.
  Reply<FileContent> open_input(std::string_view id);

  // Adds the row of a file that a batch made; call it within a transaction, and grew() once that is
  // done. Its bytes are at `place` already.
  Result<StoredFile> add_output(const std::string& owner, const std::string& filename,
                                const std::string& place, int64_t bytes,
                                std::optional<int64_t> kept_s);
  void grew(int64_t files, int64_t bytes);

  // Takes those away whose time is over, unless a batch that has not ended reads them; how many.
  Result<int64_t> remove_expired();

  // With what arrives. Waits for nobody.
  FileTotals totals() const;

 private:
  FileStore(DataDir& data, store::Disk& disk, const Clock& clock, FileLimits limits);

  Result<void> end_what_was_cut();
  Result<std::optional<StoredFile>> find(std::string_view id);
  Reply<FileContent> open_bytes(StoredFile file);
  Result<void> insert(const StoredFile& file);
  Result<bool> is_in_use(std::string_view id);
  Result<bool> take_away(const StoredFile& file);
  Result<bool> take_away_unless_used(const StoredFile& file);
  bool reserve(int64_t bytes);
  void give_back(int64_t bytes);

  DataDir& data_;
  store::Disk& disk_;
  const Clock& clock_;
  const FileLimits limits_;

  mutable std::mutex mutex_;
  int64_t total_files_ = 0;
  int64_t total_bytes_ = 0;  // of files, and of what arrives
};

}  // namespace windrow::batches
