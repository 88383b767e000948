// StorageCalls: /v1/files and /v1/batches. Their work waits for the disk, so it is done on threads
// of its own. A file that is fetched is read no faster than its client takes it, and one that comes
// is taken from its client no faster than the disk writes it: neither lies in memory. Each has a
// file open meanwhile, so there are no more of them at a time than the process has files for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/keys/request_guard.h"
#include "async/executor.h"
#include "batches/batch_service.h"
#include "batches/file_store.h"
#include "http/server.h"

namespace windrow::api {

// What there is to serve; both or neither. They outlive whoever serves them.
struct Storage {
  batches::FileStore* files = nullptr;
  batches::BatchService* batches = nullptr;
  int32_t transfers_max = 128;  // files on their way at a time; 1 or more
};

class StorageCalls {
 public:
  // Why nothing is taken at the moment, if so.
  using Refusal = std::function<std::optional<llm::Failure>()>;

  // `front` outlives it. `begun` and `over` are called once for each request that is inside, the
  // second one on any thread.
  StorageCalls(RequestGuard& front, Storage storage, Refusal refusal, std::function<void()> begun,
               std::function<void()> over);

  // As stop().
  ~StorageCalls();
  StorageCalls(const StorageCalls&) = delete;
  StorageCalls& operator=(const StorageCalls&) = delete;

  // Calls `add` for each of its routes.
  using Add = std::function<void(std::string_view method, std::string_view path, http::Handler)>;
  void add_routes(const Add& add);

  // When nothing is inside any more.
  void stop() { workers_.stop(); }

 private:
  struct Asked;
  class Download;
  class Upload;
  class Transfer;

  // A reply, or why there is none: the log wants its code.
  using Answered = std::variant<http::ServerReply, llm::Failure>;
  using Work = std::function<Answered(const Asked&)>;

  void take(const http::ServerRequest& request, http::Exchange exchange, Work work);
  void take_download(const http::ServerRequest& request, http::Exchange exchange);
  void take_upload(const http::ServerRequest& head, http::Exchange exchange,
                   http::RequestBody body);
  std::shared_ptr<Asked> admit(const http::ServerRequest& request, http::Exchange& exchange);
  std::shared_ptr<Asked> admit_transfer(const http::ServerRequest& request,
                                        http::Exchange& exchange);
  void send_file(const std::shared_ptr<Asked>& asked);

  Answered list_files(const Asked& asked) const;
  Answered file(const Asked& asked) const;
  Answered delete_file(const Asked& asked) const;
  Answered create_batch(const Asked& asked) const;
  Answered list_batches(const Asked& asked) const;
  Answered batch(const Asked& asked) const;
  Answered cancel_batch(const Asked& asked) const;

  RequestGuard& front_;
  const Storage storage_;
  const Refusal refusal_;
  const std::function<void()> begun_;
  const std::function<void()> over_;
  std::atomic<int32_t> transfers_ = 0;
  async::Executor workers_;
};

}  // namespace windrow::api
