// Endpoints about whole banks: settings, statistics, tags, scopes, entities.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <limits>
#include <utility>

#include "api/memory/memory_endpoints.h"
#include "api/memory/memory_json.h"
#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using Change = memory::Reply<json::object> (*)(const json::object& body);
using Apply = memory::Reply<memory::BankView> (memory::MemoryService::*)(const memory::Viewer&,
                                                                         const memory::BankId&,
                                                                         const json::object&);

PartAnswer change_bank(const MemoryRequest& request, Change read, Apply apply) {
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  const auto change = read(std::get<json::object>(body));
  if (const auto* failure = failure_of_reply(change)) return *failure;
  const auto view =
      (request.service.*apply)(request.viewer(), request.bank, std::get<json::object>(change));
  if (const auto* failure = failure_of_reply(view)) return *failure;
  return memory_reply(bank_profile(std::get<memory::BankView>(view).bank));
}

// The configuration of the bank; the server's where there is no such bank.
PartAnswer config_reply(const MemoryRequest& request) {
  const auto bank = request.service.bank(request.viewer(), request.bank);
  if (const auto* failure = failure_of_reply(bank)) {
    if (!is_missing_bank(*failure)) return *failure;
    return memory_reply(config_json({.id = request.bank}, request.service.defaults(), {}));
  }
  const auto view = request.service.config(request.viewer(), request.bank);
  if (const auto* failure = failure_of_reply(view)) return *failure;
  const auto& config = std::get<memory::MemoryService::ConfigView>(view);
  return memory_reply(
      config_json(std::get<memory::BankView>(bank).bank, config.config, config.overrides));
}

// The part of a list that a page shows.
template <class T>
std::span<const T> slice(const std::vector<T>& all, const PageQuery& page) {
  const auto from = std::min(static_cast<size_t>(page.offset), all.size());
  return std::span(all).subspan(from, std::min(static_cast<size_t>(page.limit), all.size() - from));
}

json::object entity_item(const memory::EntityCount& entity) {
  return {{"id", entity_id_of(entity.name)},          {"canonical_name", entity.name},
          {"mention_count", entity.mentions},         {"first_seen", time_json(entity.first_seen)},
          {"last_seen", time_json(entity.last_seen)}, {"metadata", json::object()}};
}

}  // namespace

PartAnswer list_banks(const MemoryRequest& request) {
  const auto page = read_page(request.query, kPageMax, 1);
  if (const auto* failure = failure_of_reply(page)) return *failure;
  const auto [limit, offset] = std::get<PageQuery>(page);
  int64_t total = 0;
  const auto found = request.service.banks(request.viewer(), request.query.text("q").value_or(""),
                                           limit, offset, &total);
  if (const auto* failure = failure_of_reply(found)) return *failure;
  json::array banks;
  for (const memory::BankView& view : std::get<std::vector<memory::BankView>>(found))
    banks.emplace_back(bank_item(view));
  return memory_reply(json::object{
      {"banks", std::move(banks)}, {"total", total}, {"limit", limit}, {"offset", offset}});
}

PartAnswer put_bank(const MemoryRequest& request) {
  return change_bank(request, read_bank_change, &memory::MemoryService::put_bank);
}

PartAnswer patch_bank(const MemoryRequest& request) {
  return change_bank(request, read_bank_change, &memory::MemoryService::patch_bank);
}

PartAnswer put_profile(const MemoryRequest& request) {
  return change_bank(request, read_disposition, &memory::MemoryService::put_bank);
}

PartAnswer delete_bank(const MemoryRequest& request) {
  const auto removed = request.service.delete_bank(request.viewer(), request.bank);
  const auto* failure = failure_of_reply(removed);
  if (failure != nullptr && !is_missing_bank(*failure)) return *failure;
  return memory_reply(json::object{
      {"success", true},
      {"message",
       fmt::format("Bank '{}' and all associated data deleted successfully", request.bank.text)},
      {"deleted_count", failure == nullptr ? std::get<int64_t>(removed) : 0}});
}

PartAnswer get_profile(const MemoryRequest& request) {
  const auto view = request.service.bank(request.viewer(), request.bank);
  if (const auto* failure = failure_of_reply(view)) return *failure;
  return memory_reply(bank_profile(std::get<memory::BankView>(view).bank));
}

PartAnswer get_config(const MemoryRequest& request) {
  return config_reply(request);
}

PartAnswer patch_config(const MemoryRequest& request) {
  const auto body = read_object(request.body);
  if (const auto* failure = failure_of_reply(body)) return *failure;
  auto read = read_config_change(std::get<json::object>(body));
  if (const auto* failure = failure_of_reply(read)) return *failure;
  auto& change = std::get<ConfigChange>(read);
  for (const auto& [name, value] : change.bank)
    change.overrides[name] = value;
  const auto view = request.service.put_bank(request.viewer(), request.bank, change.overrides);
  if (const auto* failure = failure_of_reply(view)) return *failure;
  return config_reply(request);
}

PartAnswer reset_config(const MemoryRequest& request) {
  const auto reset = request.service.reset_config(request.viewer(), request.bank);
  if (const auto* failure = failure_of_reply(reset); failure != nullptr) {
    if (!is_missing_bank(*failure)) return *failure;
    return config_reply(request);
  }
  // For Hindsight these are settings, too.
  const auto view = request.service.patch_bank(
      request.viewer(), request.bank,
      {{"mission", ""},
       {"background", ""},
       {"disposition", {{"skepticism", 3}, {"literalism", 3}, {"empathy", 3}}}});
  if (const auto* failure = failure_of_reply(view)) return *failure;
  return config_reply(request);
}

PartAnswer get_stats(const MemoryRequest& request) {
  return with_store(request, memory_reply(stats_json(request.bank, {})),
                    [&](memory::BankStore& store) -> PartAnswer {
                      const auto stats = store.stats();
                      if (!stats) return store_failure(stats.error(), "bank");
                      return memory_reply(stats_json(request.bank, *stats));
                    });
}

PartAnswer list_tags(const MemoryRequest& request) {
  const auto read = read_page(request.query, 100, 0);
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto page = std::get<PageQuery>(read);
  const std::string source = request.query.text("source").value_or("memories");
  const PartAnswer none = memory_reply(page_json({}, 0, page.limit, page.offset));
  if (source == "mental_models") return none;
  if (source != "memories")
    return unprocessable("query.source", "source must be memories or mental_models");
  return with_store(request, none, [&](memory::BankStore& store) -> PartAnswer {
    auto tags = store.tags();
    if (!tags) return store_failure(tags.error(), "bank");
    const std::string pattern = request.query.text("q").value_or("");
    std::erase_if(*tags,
                  [&](const memory::TagCount& one) { return !tag_matches(pattern, one.tag); });
    json::array items;
    for (const memory::TagCount& one : slice(*tags, page))
      items.push_back({{"tag", one.tag}, {"count", one.count}});
    return memory_reply(page_json(std::move(items), std::ssize(*tags), page.limit, page.offset));
  });
}

PartAnswer list_scopes(const MemoryRequest& request) {
  return with_store(request, memory_reply(json::object{{"scopes", json::array()}}),
                    [&](memory::BankStore& store) -> PartAnswer {
                      const auto scopes = store.scopes();
                      if (!scopes) return store_failure(scopes.error(), "bank");
                      json::array items;
                      for (const memory::ScopeCount& one : *scopes)
                        items.push_back({{"tags", tags_json(one.scope)}, {"count", one.count}});
                      return memory_reply(json::object{{"scopes", std::move(items)}});
                    });
}

PartAnswer list_entities(const MemoryRequest& request) {
  const auto read = read_page(request.query, 100, 0);
  if (const auto* failure = failure_of_reply(read)) return *failure;
  const auto page = std::get<PageQuery>(read);
  return with_store(
      request, memory_reply(page_json({}, 0, page.limit, page.offset)),
      [&](memory::BankStore& store) -> PartAnswer {
        const auto entities = store.entities();
        if (!entities) return store_failure(entities.error(), "bank");
        const std::vector<memory::EntityCount>& all = *entities;
        json::array items;
        for (const memory::EntityCount& one : slice(all, page))
          items.emplace_back(entity_item(one));
        return memory_reply(page_json(std::move(items), std::ssize(all), page.limit, page.offset));
      });
}

PartAnswer get_entity(const MemoryRequest& request) {
  const std::string& id = request.parts[1];
  if (const auto problem = check_uuid(id, "entity_id")) return *problem;
  const llm::Failure missing{.failure_class = llm::FailureClass::kRequest,
                             .status = 404,
                             .code = "entity_not_found",
                             .message = fmt::format("Entity {} not found", id)};
  return with_store(request, missing, [&](memory::BankStore& store) -> PartAnswer {
    const auto entities = store.entities();
    if (!entities) return store_failure(entities.error(), "bank");
    for (const memory::EntityCount& one : *entities) {
      if (entity_id_of(one.name) != lower_case(id)) continue;
      json::object entity = entity_item(one);
      entity["observations"] = json::array();
      return memory_reply(entity);
    }
    return missing;
  });
}

}  // namespace windrow::api
