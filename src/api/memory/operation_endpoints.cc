// Endpoints about work in the background: operations and consolidation.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "api/memory/memory_endpoints.h"
#include "api/memory/memory_json.h"
#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

memory::Reply<memory::OperationId> operation_in_path(const MemoryRequest& request) {
  const std::string& id = request.parts[1];
  if (auto problem = check_uuid(id, "operation_id")) {
    problem->message = fmt::format("Invalid operation_id format: {}", llm::shown(id));
    return *std::move(problem);
  }
  return memory::OperationId{lower_case(id)};
}

// As Hindsight words it, where there is none.
llm::Failure operation_failure(llm::Failure failure, const MemoryRequest& request,
                               const memory::OperationId& id) {
  if (failure.status == 404) {
    failure.message = fmt::format("Operation {} not found for bank {}", id.text, request.bank.text);
  }
  return failure;
}

http::ServerReply done(const memory::OperationId& id, std::string_view what) {
  return memory_reply(json::object{{"success", true},
                                   {"message", fmt::format("Operation {} {}", id.text, what)},
                                   {"operation_id", id.text}});
}

using Order = memory::Reply<memory::Operation> (memory::MemoryService::*)(
    const memory::Viewer&, const memory::BankId&, const memory::OperationId&);

PartAnswer give_order(const MemoryRequest& request, Order order, std::string_view what) {
  const auto named = operation_in_path(request);
  if (const auto* failure = failure_of_reply(named)) return *failure;
  const auto& id = std::get<memory::OperationId>(named);
  const auto changed = (request.service.*order)(request.viewer(), request.bank, id);
  if (const auto* failure = failure_of_reply(changed))
    return operation_failure(*failure, request, id);
  return done(id, what);
}

}  // namespace

PartAnswer list_operations(const MemoryRequest& request) {
  const auto read = read_operation_query(request.query);
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto& wanted = std::get<OperationQuery>(read);
  const auto reply = [&](json::array items, int64_t total) {
    return memory_reply(json::object{{"bank_id", request.bank.text},
                                     {"total", total},
                                     {"limit", wanted.page.limit},
                                     {"offset", wanted.page.offset},
                                     {"operations", std::move(items)}});
  };
  if (wanted.none) return reply({}, 0);
  return with_store(request, reply({}, 0), [&](memory::BankStore& store) -> PartAnswer {
    int64_t total = 0;
    const auto found =
        store.operations(wanted.status, wanted.type, wanted.page.limit, wanted.page.offset, &total);
    if (!found) return store_failure(found.error(), "bank");
    json::array items;
    for (const memory::Operation& operation : *found)
      items.emplace_back(operation_item(operation));
    return reply(std::move(items), total);
  });
}

PartAnswer get_operation(const MemoryRequest& request) {
  const auto named = operation_in_path(request);
  if (const auto* failure = failure_of_reply(named)) return *failure;
  const auto& id = std::get<memory::OperationId>(named);
  const PartAnswer missing =
      memory_reply(json::object{{"operation_id", id.text}, {"status", "not_found"}});
  return with_store(request, missing, [&](memory::BankStore& store) -> PartAnswer {
    const auto found = store.operation(id);
    if (!found && found.error().kind == ErrorKind::kNotFound) return missing;
    if (!found) return store_failure(found.error(), "operation");
    const std::string payload = request.query.text("include_payload").value_or("false");
    return memory_reply(operation_detail(*found, payload == "true" || payload == "1"));
  });
}

PartAnswer cancel_operation(const MemoryRequest& request) {
  return give_order(request, &memory::MemoryService::cancel, "cancelled");
}

PartAnswer retry_operation(const MemoryRequest& request) {
  return give_order(request, &memory::MemoryService::retry, "queued for retry");
}

PartAnswer delete_operation(const MemoryRequest& request) {
  const auto named = operation_in_path(request);
  if (const auto* failure = failure_of_reply(named)) return *failure;
  const auto& id = std::get<memory::OperationId>(named);
  const llm::Failure missing =
      operation_failure(store_failure({ErrorKind::kNotFound, ""}, "operation"), request, id);
  return with_store(request, missing, [&](memory::BankStore& store) -> PartAnswer {
    const auto removed = store.delete_operation(id);
    if (!removed)
      return operation_failure(store_failure(removed.error(), "operation"), request, id);
    return done(id, "deleted");
  });
}

PartAnswer consolidate_bank(const MemoryRequest& request) {
  const auto body = read_optional_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  const json::value* scopes = std::get<json::object>(body).if_contains("observation_scopes");
  if (scopes != nullptr && !scopes->is_null())
    return not_there(
        "observation_scopes of a consolidation are not there; without them all pending facts of "
        "the bank are consolidated");
  const auto queued = request.service.consolidate(request.viewer(), request.bank);
  if (const auto* failure = failure_of_reply(queued)) return *failure;
  const auto& submitted = std::get<memory::BankStore::Submitted>(queued);
  return memory_reply(
      json::object{{"operation_id", submitted.id.text}, {"deduplicated", submitted.deduplicated}});
}

PartAnswer recover_bank(const MemoryRequest& request) {
  const auto recovered = request.service.recover(request.viewer(), request.bank);
  if (const auto* failure = failure_of_reply(recovered)) return *failure;
  return memory_reply(json::object{{"retried_count", std::get<int64_t>(recovered)}});
}

}  // namespace windrow::api
