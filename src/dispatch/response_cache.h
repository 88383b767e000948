// ResponseCache: answers of upstream servers, kept in a file from one run to the next. Only answers
// that are the same each time belong here (llm/raw_body.h, repeat_key). docs/formats.md
// describes the file.
//
// A cache may forget, but what it returns is what was answered: every record has two checksums. A
// record with a damaged head is skipped, up to the next whole one; a torn end that a crash left is
// truncated when the file is opened. A failing disk stops the storing and nothing else.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "llm/answer.h"
#include "store/disk.h"

namespace windrow::dispatch {

// A reading of this moment.
struct CacheReading {
  int64_t entries = 0;
  int64_t hits = 0;
  int64_t stored = 0;          // since it was opened
  uint64_t bytes = 0;          // of the file
  uint64_t torn_bytes = 0;     // truncated when it was opened
  std::optional<Error> error;  // why nothing is stored any more
};

// Thread-safe. In memory an answer takes about 20 to 40 bytes; reading it is one or two reads of
// the file.
class ResponseCache {
 public:
  // Reads where the records are; a missing file is begun. kConflict when another process has it
  // open, kInvalid for a file that is something else, kDiskFull, kIo. `disk` outlives it.
  static Result<std::unique_ptr<ResponseCache>> open(store::Disk& disk, const std::string& path);

  // Syncs, as far as the disk lets it.
  ~ResponseCache();
  ResponseCache(const ResponseCache&) = delete;
  ResponseCache& operator=(const ResponseCache&) = delete;

  // The answer with its raw body and usage; nothing: it is not stored. Blocks on the disk.
  std::optional<llm::Answer> find(const Hash128& question);

  // Stores an answer with a raw body; others are ignored. Blocks on the disk. An error ends the
  // storing (CacheReading::error).
  void put(const Hash128& question, const llm::Answer& answer);

  CacheReading reading() const;

 private:
  struct Hasher {
    using is_avalanching = void;  // they are hashes already
    size_t operator()(uint64_t half) const { return half; }
  };

  ResponseCache(std::unique_ptr<store::FileLock> lock, std::unique_ptr<store::AppendFile> out,
                std::unique_ptr<store::ReadFile> in);

  Result<void> load(const std::string& path);

  const std::unique_ptr<store::FileLock> lock_;
  const std::unique_ptr<store::AppendFile> out_;
  const std::unique_ptr<store::ReadFile> in_;

  mutable std::mutex mutex_;
  CacheReading reading_;

  // Half of the question -> where its record begins, which has the other half.
  boost::unordered_flat_map<uint64_t, uint64_t, Hasher> offsets_;
};

}  // namespace windrow::dispatch
