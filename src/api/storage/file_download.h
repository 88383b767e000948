// FileDownload: the bytes of a file on their way to a client. The file is read no faster than the
// client takes it: the next piece is read when the one before has been taken.
//
// WantedRange: the part of the file that the header Range asks for (RFC 9110, section 14). Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/storage/storage_request.h"
#include "async/executor.h"
#include "batches/file_store.h"
#include "http/headers.h"

namespace windrow::api {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // one behind the last

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

enum class RangeKind : uint8_t {
  kWhole,  // none is asked for, or what is asked for is passed over: several at once, other units
  kPart,
  kNone,  // it begins behind the end: 416
};

struct WantedRange {
  RangeKind kind = RangeKind::kWhole;
  ByteRange range;

  friend bool operator==(const WantedRange&, const WantedRange&) = default;
};

// "bytes=0-499", "bytes=500-", "bytes=-500" of so many.
WantedRange wanted_range(const std::optional<std::string_view>& header, uint64_t size);

// "bytes 0-499/1234"; for kNone "bytes */1234".
std::string content_range(const WantedRange& wanted, uint64_t size);

class FileDownload : public std::enable_shared_from_this<FileDownload> {
 public:
  // Opens the file that the request names and begins to send it; on a worker. Answers 404 or 416 if
  // there is nothing to send. `files` and `workers` outlive the request.
  static void start(const std::shared_ptr<StorageRequest>& request, batches::FileStore& files,
                    async::Executor& workers);

  // For start().
  FileDownload(std::shared_ptr<StorageRequest> request, batches::FileContent content,
               ByteRange range, async::Executor& workers);

 private:
  void send_head(int status, http::Headers headers);
  void send_next();
  void send_piece();

  const std::shared_ptr<StorageRequest> request_;
  batches::FileContent content_;
  ByteRange left_;
  async::Executor& workers_;
};

}  // namespace windrow::api
