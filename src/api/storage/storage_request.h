// StorageRequest: a request for files or batches, from its head until its answer is complete. Used
// by one thread at a time: the event loop, then a worker of StorageCalls.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "api/keys/request_guard.h"
#include "batches/batch_service.h"
#include "batches/file_store.h"
#include "batches/reply.h"
#include "http/server.h"
#include "llm/answer.h"

namespace windrow::api {

// A reply, or why there is none: the log needs the failure's code.
using StorageAnswer = std::variant<http::ServerReply, llm::Failure>;

// Counts one file on its way to or from a client, while it exists.
class TransferSlot {
 public:
  explicit TransferSlot(std::atomic<int32_t>& transfers)
      : transfers_(transfers), count_(++transfers) {}
  ~TransferSlot() { --transfers_; }
  TransferSlot(const TransferSlot&) = delete;
  TransferSlot& operator=(const TransferSlot&) = delete;

  // How many there were with this one.
  int32_t count() const { return count_; }

 private:
  std::atomic<int32_t>& transfers_;
  const int32_t count_;
};

struct StorageRequest {
  // `over` outlives it, and is called when all other members are destroyed.
  StorageRequest(RequestContext of_guard, http::Exchange to, const std::function<void()>& over)
      : at_end(over), context(std::move(of_guard)), exchange(std::move(to)) {}
  StorageRequest(const StorageRequest&) = delete;
  StorageRequest& operator=(const StorageRequest&) = delete;

  batches::Viewer viewer() const {
    return {.key = context.record().key, .sees_all = context.sees_all()};
  }

  void answer(StorageAnswer answer);

  // The first member, so that it is destroyed last.
  class AtEnd {
   public:
    explicit AtEnd(const std::function<void()>& over) : over_(over) {}
    ~AtEnd() { over_(); }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;

   private:
    const std::function<void()>& over_;
  } at_end;
  RequestContext context;
  http::Exchange exchange;
  std::optional<TransferSlot> transfer;
  std::string id;  // in the path
  std::string query;
  std::string content_type;
  std::string idempotency_key;
  std::optional<std::string> range;
  bool head_only = false;
  std::string body;
};

// A JSON object as a reply, and what FileStore and BatchService return.
http::ServerReply reply_of(const boost::json::object& object);
StorageAnswer reply_of(const batches::Reply<batches::StoredFile>& reply);
StorageAnswer reply_of(const batches::Reply<batches::BatchView>& reply);

}  // namespace windrow::api
