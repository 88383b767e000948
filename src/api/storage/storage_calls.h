// StorageCalls: the endpoints /v1/files and /v1/batches. Their work waits for the disk, so it runs
// on two threads of its own. Files that are uploaded or downloaded are streamed (FileUpload,
// FileDownload); each keeps a file open, so their number is bounded.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/keys/request_guard.h"
#include "api/storage/storage_request.h"
#include "async/executor.h"
#include "batches/batch_service.h"
#include "batches/file_store.h"
#include "http/server.h"

namespace windrow::api {

// What is served: both or neither. They outlive the StorageCalls.
struct Storage {
  batches::FileStore* files = nullptr;
  batches::BatchService* batches = nullptr;
  int32_t transfers_max = 128;  // uploads and downloads at a time; 1 or more
};

class StorageCalls {
 public:
  // Why nothing is accepted at the moment, if so. On the loop's thread.
  using Refusal = std::function<std::optional<llm::Failure>()>;

  // `guard` outlives it. `begun` and `over` are called once for each request: `begun` on the loop's
  // thread, `over` on any thread.
  StorageCalls(RequestGuard& guard, Storage storage, Refusal refusal, std::function<void()> begun,
               std::function<void()> over);

  // As stop().
  ~StorageCalls();
  StorageCalls(const StorageCalls&) = delete;
  StorageCalls& operator=(const StorageCalls&) = delete;

  // Calls `add` for each of its routes, whose handlers run on the loop's thread.
  using Add = std::function<void(std::string_view method, std::string_view path, http::Handler)>;
  void add_routes(const Add& add);

  // Once no request is in progress. Blocks until the threads have ended.
  void stop() { workers_.stop(); }

 private:
  using Work = std::function<StorageAnswer(const StorageRequest&)>;

  // On the loop's thread:
  std::shared_ptr<StorageRequest> admit(const http::ServerRequest& request,
                                        http::Exchange& exchange);
  std::shared_ptr<StorageRequest> admit_transfer(const http::ServerRequest& request,
                                                 http::Exchange& exchange);
  void take(const http::ServerRequest& request, http::Exchange exchange, Work work);
  void take_download(const http::ServerRequest& request, http::Exchange exchange);
  void take_upload(const http::ServerRequest& head, http::Exchange exchange,
                   http::RequestBody body);

  // On a worker:
  StorageAnswer list_files(const StorageRequest& request) const;
  StorageAnswer file(const StorageRequest& request) const;
  StorageAnswer delete_file(const StorageRequest& request) const;
  StorageAnswer create_batch(const StorageRequest& request) const;
  StorageAnswer list_batches(const StorageRequest& request) const;
  StorageAnswer batch(const StorageRequest& request) const;
  StorageAnswer cancel_batch(const StorageRequest& request) const;

  RequestGuard& guard_;
  const Storage storage_;
  const Refusal refusal_;
  const std::function<void()> begun_;
  const std::function<void()> over_;
  std::atomic<int32_t> transfers_ = 0;
  async::Executor workers_;
};

}  // namespace windrow::api
