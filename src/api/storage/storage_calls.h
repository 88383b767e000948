// StorageCalls: the endpoints /v1/files and /v1/batches, a part of the server. Their work waits for
// the disk, so it runs on two threads of its own. Files that are uploaded or downloaded are
// streamed (FileUpload, FileDownload); each keeps a file open, so their number is bounded.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/pages/metrics_writer.h"
#include "api/server_part.h"
#include "api/storage/storage_request.h"
#include "async/executor.h"
#include "batches/batch_service.h"
#include "batches/file_store.h"
#include "http/server.h"

namespace windrow::api {

// What is served: both or neither; without them every request is answered 501. They outlive the
// server.
struct Storage {
  batches::FileStore* files = nullptr;
  batches::BatchService* batches = nullptr;
  int32_t transfers_max = 128;  // uploads and downloads at a time; 1 or more
};

struct StorageReading {
  batches::BatchReadings batches;
  batches::FileTotals files;
};

// The families of files and batches on /metrics. Pure.
void add_storage_metrics(const StorageReading& storage, MetricsWriter& page);

class StorageCalls final : public ServerPart {
 public:
  StorageCalls(const PartHost& host, Storage storage);

  // As stop().
  ~StorageCalls() override;
  StorageCalls(const StorageCalls&) = delete;
  StorageCalls& operator=(const StorageCalls&) = delete;

  void add_routes(const Add& add) override;
  void metrics(MetricsWriter& page) const override;
  void add_requests(boost::json::object& page, std::optional<std::string_view> key) const override;
  boost::json::object openapi() const override;
  void stop() override { workers_.stop(); }

 private:
  using Work = std::function<PartAnswer(const StorageRequest&)>;

  // On the loop's thread:
  std::shared_ptr<StorageRequest> admit(const http::ServerRequest& request,
                                        http::Exchange exchange);
  std::shared_ptr<StorageRequest> admit_transfer(const http::ServerRequest& request,
                                                 http::Exchange exchange);
  void take(const http::ServerRequest& request, http::Exchange exchange, Work work);
  void take_download(const http::ServerRequest& request, http::Exchange exchange);
  void take_upload(const http::ServerRequest& head, http::Exchange exchange,
                   http::RequestBody body);

  // On a worker:
  PartAnswer list_files(const StorageRequest& request) const;
  PartAnswer file(const StorageRequest& request) const;
  PartAnswer delete_file(const StorageRequest& request) const;
  PartAnswer create_batch(const StorageRequest& request) const;
  PartAnswer list_batches(const StorageRequest& request) const;
  PartAnswer batch(const StorageRequest& request) const;
  PartAnswer cancel_batch(const StorageRequest& request) const;

  const PartHost host_;
  const Storage storage_;
  std::atomic<int32_t> transfers_ = 0;
  async::Executor workers_;
};

// For ApiOptions::parts.
PartFactory storage_part(Storage storage);

}  // namespace windrow::api
