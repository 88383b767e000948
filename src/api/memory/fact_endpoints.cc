// Endpoints about memories: retain, recall, reflect, lists, edits.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "api/memory/memory_endpoints.h"
#include "api/memory/memory_json.h"
#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

llm::Failure no_memory_unit(std::string_view id) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = "memory_not_found",
          .message = fmt::format("Memory unit '{}' not found", id)};
}

// The memory that the path names, or why there is none.
memory::Reply<memory::MemoryId> memory_in_path(const MemoryRequest& request) {
  if (auto problem = check_uuid(request.parts[1], "memory_id")) return *std::move(problem);
  return memory::MemoryId{lower_case(request.parts[1])};
}

llm::Failure memory_failure(const Error& error, const memory::MemoryId& id) {
  if (error.kind == ErrorKind::kNotFound) return no_memory_unit(id.text);
  return store_failure(error, "memory");
}

// What `found` answers of the bank's store for the memory that the path names.
template <class Found>
PartAnswer with_memory(const MemoryRequest& request, const Found& found) {
  const auto named = memory_in_path(request);
  if (const auto* failure = failure_of_reply(named)) return *failure;
  const auto& id = std::get<memory::MemoryId>(named);
  return with_store(request, no_memory_unit(id.text),
                    [&](memory::BankStore& store) { return found(store, id); });
}

PartAnswer detail_reply(memory::BankStore& store, const memory::Memory& found) {
  const auto sources = store.memories(found.sources);
  if (!sources) return store_failure(sources.error(), "memory");
  return memory_reply(memory_detail(found, *sources));
}

json::object retain_reply(const MemoryRequest& request, int64_t items, bool in_background) {
  return {{"success", true},
          {"bank_id", request.bank.text},
          {"items_count", items},
          {"async", in_background}};
}

// The reply to a retain that came before with the same operation_id; nothing: it did not.
std::optional<PartAnswer> repeated_retain(const MemoryRequest& request,
                                          const memory::OperationId& id) {
  const auto store = request.service.store(request.viewer(), request.bank);
  if (failure_of_reply(store) != nullptr) return std::nullopt;
  const auto operation = std::get<std::shared_ptr<memory::BankStore>>(store)->operation(id);
  if (!operation || operation->type != memory::OperationType::kRetain) return std::nullopt;
  json::object reply =
      retain_reply(request, operation_item(*operation).at("items_count").as_int64(), true);
  reply["operation_id"] = id.text;
  return memory_reply(reply);
}

}  // namespace

PartAnswer retain_memories(const MemoryRequest& request) {
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  auto read = read_retain(std::get<json::object>(body));
  if (const auto* failure = failure_of_reply(read)) return *failure;
  auto& wanted = std::get<RetainRequest>(read);
  const auto count = std::ssize(wanted.items);
  json::object reply = retain_reply(request, count, wanted.in_background);
  if (count == 0) {
    if (!wanted.in_background) reply["usage"] = usage_json({});
    return memory_reply(reply);
  }
  if (wanted.operation) {
    if (auto before = repeated_retain(request, *wanted.operation)) return *std::move(before);
  }
  const auto kept = request.service.retain(request.viewer(), request.bank, std::move(wanted.items),
                                           wanted.in_background, wanted.operation);
  if (const auto* failure = failure_of_reply(kept)) return *failure;
  const auto& receipt = std::get<memory::RetainReceipt>(kept);
  if (receipt.operation) {
    reply["operation_id"] = receipt.operation->text;
  } else {
    reply["usage"] = usage_json(receipt.usage);
  }
  return memory_reply(reply);
}

PartAnswer recall_memories(const MemoryRequest& request) {
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  const auto read = read_recall(std::get<json::object>(body));
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto& wanted = std::get<RecallRequest>(read);
  const http::ServerReply nothing = memory_reply(recall_json({}, wanted.with_entities));
  if (wanted.none) return nothing;
  const auto found = request.service.recall(request.viewer(), request.bank, wanted.query);
  if (const auto* failure = failure_of_reply(found))
    return is_missing_bank(*failure) ? PartAnswer(nothing) : PartAnswer(*failure);
  return memory_reply(recall_json(std::get<memory::RecallResult>(found), wanted.with_entities));
}

PartAnswer reflect_on_memories(const MemoryRequest& request) {
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  const auto read = read_reflect(std::get<json::object>(body));
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto& wanted = std::get<ReflectRequest>(read);
  const auto answer = request.service.reflect(request.viewer(), request.bank, wanted.query);
  if (const auto* failure = failure_of_reply(answer)) return *failure;
  return memory_reply(reflect_json(std::get<memory::ReflectAnswer>(answer), wanted.with_facts));
}

PartAnswer list_memories(const MemoryRequest& request) {
  const auto read = read_memory_query(request.query);
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto& wanted = std::get<memory::MemoryQuery>(read);
  return with_store(
      request, memory_reply(page_json({}, 0, wanted.limit, wanted.offset)),
      [&](memory::BankStore& store) -> PartAnswer {
        const auto page = store.list(wanted);
        if (!page) return store_failure(page.error(), "bank");
        json::array items;
        for (const memory::Memory& one : page->memories)
          items.emplace_back(memory_item(one));
        return memory_reply(page_json(std::move(items), page->total, wanted.limit, wanted.offset));
      });
}

PartAnswer get_memory(const MemoryRequest& request) {
  return with_memory(request,
                     [&](memory::BankStore& store, const memory::MemoryId& id) -> PartAnswer {
                       const auto found = store.memory(id);
                       if (!found) return memory_failure(found.error(), id);
                       return detail_reply(store, *found);
                     });
}

PartAnswer patch_memory(const MemoryRequest& request) {
  const auto named = memory_in_path(request);
  if (const auto* failure = failure_of_reply(named)) return *failure;
  const auto& id = std::get<memory::MemoryId>(named);
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  const auto read = read_memory_patch(std::get<json::object>(body));
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto& patch = std::get<MemoryPatch>(read);
  return with_store(request, no_memory_unit(id.text), [&](memory::BankStore& store) -> PartAnswer {
    const auto now = request.now_ms();
    const auto edited = store.edit_memory(
        id, [&](memory::Memory& memory) { return apply_patch(patch, now, memory); }, now);
    if (!edited) return memory_failure(edited.error(), id);
    request.service.embed_edited(request.viewer(), request.bank, *edited);
    consolidate_again(request);
    return detail_reply(store, *edited);
  });
}

PartAnswer get_history(const MemoryRequest& request) {
  return with_memory(request,
                     [&](memory::BankStore& store, const memory::MemoryId& id) -> PartAnswer {
                       const auto found = store.memory(id);
                       if (!found) return memory_failure(found.error(), id);
                       if (found->type != memory::MemoryType::kObservation)
                         return memory_reply(json::array());
                       const auto changes = store.history(id);
                       if (!changes) return memory_failure(changes.error(), id);
                       const auto sources = store.memories(found->sources);
                       if (!sources) return store_failure(sources.error(), "memory");
                       return memory_reply(history_json(*found, *changes, *sources));
                     });
}

PartAnswer clear_memories(const MemoryRequest& request) {
  std::optional<memory::MemoryType> type;
  if (const auto text = request.query.text("type")) {
    type = memory::memory_type_named(*text);
    if (!type)
      return unprocessable("query.type",
                           fmt::format("type is \"{}\"; it must be world, experience or "
                                       "observation",
                                       llm::shown(*text)));
  }
  return with_store(
      request, memory_reply(json::object{{"success", true}}),
      [&](memory::BankStore& store) -> PartAnswer {
        const auto cleared = store.clear(type, request.now_ms());
        if (!cleared) return store_failure(cleared.error(), "bank");
        if (type) consolidate_again(request);
        return memory_reply(json::object{{"success", true}, {"deleted_count", *cleared}});
      });
}

PartAnswer clear_observations(const MemoryRequest& request) {
  const auto reply = [](int64_t count) {
    return memory_reply(json::object{{"success", true},
                                     {"message", fmt::format("Cleared {} observations", count)},
                                     {"deleted_count", count}});
  };
  return with_store(request, reply(0), [&](memory::BankStore& store) -> PartAnswer {
    const auto cleared = store.clear(memory::MemoryType::kObservation, request.now_ms());
    if (!cleared) return store_failure(cleared.error(), "bank");
    if (*cleared > 0) consolidate_again(request);
    return reply(*cleared);
  });
}

PartAnswer clear_observations_of_memory(const MemoryRequest& request) {
  const auto named = memory_in_path(request);
  if (const auto* failure = failure_of_reply(named)) return *failure;
  const auto reply = [](int64_t count) {
    return memory_reply(json::object{{"deleted_count", count}});
  };
  return with_store(request, reply(0), [&](memory::BankStore& store) -> PartAnswer {
    const auto cleared =
        store.clear_observations_of(std::get<memory::MemoryId>(named), request.now_ms());
    if (!cleared && cleared.error().kind == ErrorKind::kNotFound) return reply(0);
    if (!cleared) return store_failure(cleared.error(), "memory");
    if (*cleared > 0) consolidate_again(request);
    return reply(*cleared);
  });
}

}  // namespace windrow::api
