// StorageRequest: a request for files or batches, from its head until its answer is complete. Used
// by one thread at a time: the event loop, then a worker of StorageCalls.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "api/server_part.h"
#include "batches/batch_service.h"
#include "batches/file_store.h"
#include "batches/reply.h"
#include "http/server.h"

namespace windrow::api {

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

struct StorageRequest : PartRequest {
  explicit StorageRequest(PartRequest admitted) : PartRequest(std::move(admitted)) {}

  batches::Viewer viewer() const {
    return {.key = context.record().key, .sees_all = context.sees_all()};
  }

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
PartAnswer reply_of(const batches::Reply<batches::StoredFile>& reply);
PartAnswer reply_of(const batches::Reply<batches::BatchView>& reply);

}  // namespace windrow::api
