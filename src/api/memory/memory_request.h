// MemoryRequest: a request for memory banks, from its head until its answer is complete. Used by
// one thread at a time: the event loop, then a worker of MemoryCalls.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/pages/listing.h"
#include "api/server_part.h"
#include "llm/answer.h"
#include "memory/bank/bank_store.h"
#include "memory/service/memory_service.h"

namespace windrow::api {

struct MemoryRequest : PartRequest {
  MemoryRequest(PartRequest admitted, memory::MemoryService& banks, std::string_view query_text)
      : PartRequest(std::move(admitted)), service(banks), query(query_text) {}

  memory::Viewer viewer() const {
    return {.key = context.record().key, .sees_all = context.sees_all()};
  }
  memory::UnixMs now_ms() const { return service.now_ms(); }

  memory::MemoryService& service;
  const Query query;
  std::vector<std::string> parts;  // values of the braces of its path, decoded
  memory::BankId bank;             // the first of them, where the path begins with a bank
  std::string body;
};

// What answers a request, on a worker.
using MemoryEndpoint = PartAnswer (*)(const MemoryRequest& request);

// {"detail": ...}, as FastAPI writes errors: a text, or for 422 with a `param` a list that says
// where ("body.items[0].tags" -> ["body", "items", 0, "tags"]).
http::ServerReply memory_error(const llm::Failure& failure);

http::ServerReply memory_reply(const boost::json::object& object);
http::ServerReply memory_reply(const boost::json::array& array);

// 501, with what to use instead.
llm::Failure not_there(std::string_view what);

// The failure of a reply; null: it has a value.
template <class T>
const llm::Failure* failure_of_reply(const memory::Reply<T>& reply) {
  return std::get_if<llm::Failure>(&reply);
}

// Whether there is no such bank, or it is another key's. Reads then answer that nothing is there,
// as Hindsight's do.
bool is_missing_bank(const llm::Failure& failure);

// The failure of a store, in the words of its API. `what` is "memory", "document", ...
llm::Failure store_failure(const Error& error, std::string_view what);

// What `found` answers of the bank's store; without such a bank `missing`.
template <class Found>
PartAnswer with_store(const MemoryRequest& request, PartAnswer missing, const Found& found) {
  const auto store = request.service.store(request.viewer(), request.bank);
  if (const llm::Failure* failure = failure_of_reply(store))
    return is_missing_bank(*failure) ? std::move(missing) : PartAnswer(*failure);
  return found(*std::get<std::shared_ptr<memory::BankStore>>(store));
}

// Facts of the bank are to be consolidated again after an edit, if its settings say so. It is no
// failure of the edit if that cannot be queued: the facts stay pending, and the next retain or
// consolidate takes them.
void consolidate_again(const MemoryRequest& request);

}  // namespace windrow::api
