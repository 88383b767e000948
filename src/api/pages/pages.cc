#include "api/pages/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "api/openapi/openapi.h"
#include "api/pages/listing.h"
#include "api/pages/models_page.h"
#include "api/wire/error_reply.h"
#include "api/wire/refusals.h"
#include "dispatch/work_item.h"
#include "llm/field_values.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

// Bounds the list of /v1/windrow/requests.
constexpr size_t kShownMax = 1000;

bool demands_keys(const KeyAccounts& accounts) {
  return accounts.keys() && accounts.keys()->demands_keys();
}

// The sections of the OpenAPI document that the parts add.
std::vector<json::object> sections_of(std::span<const std::unique_ptr<ServerPart>> parts) {
  std::vector<json::object> sections;
  for (const std::unique_ptr<ServerPart>& part : parts)
    sections.push_back(part->openapi());
  return sections;
}

// A model's name may contain slashes.
std::string name_in_path(const http::ServerRequest& asked) {
  std::string name;
  for (const std::string_view part : asked.parts)
    name += (name.empty() ? "" : "/") + decode_part(part);
  return name;
}

constexpr int64_t kItemsMax = 100;
constexpr int64_t kItemsDefault = 20;

std::optional<llm::Failure> bad_limit(int64_t limit) {
  if (limit >= 1 && limit <= kItemsMax) return std::nullopt;
  return llm::bad_value("limit",
                        fmt::format("limit is {}; it must be from 1 to {}", limit, kItemsMax));
}

// Removes everything up to and including the item `after`.
std::optional<llm::Failure> begin_after(const std::string& after, json::array& items) {
  const auto found = std::ranges::find_if(
      items, [&](const json::value& item) { return item.at("id").as_string() == after; });
  if (found == items.end()) {
    return llm::bad_value("after", fmt::format("after is \"{}\", which is no item of this response",
                                               llm::shown(after)));
  }
  items.erase(items.begin(), found + 1);
  return std::nullopt;
}

}  // namespace

Pages::Pages(PageSources sources, PageOptions options)
    : sources_(std::move(sources)),
      options_(std::move(options)),
      description_(boost::json::serialize(openapi_document(
          options_.version, demands_keys(sources_.accounts), sections_of(sources_.parts)))) {}

http::ServerReply Pages::health(const Asked&, const RequestContext&) const {
  json::object body{{"status", "ok"}};
  for (const std::unique_ptr<ServerPart>& part : sources_.parts)
    part->add_health(body);
  return {.body = json::serialize(body)};
}

http::ServerReply Pages::ready(const Asked& asked, const RequestContext&) const {
  if (const auto failure = sources_.gate.refusal()) return error_reply(*failure);
  constexpr std::string_view kModel = "model=";
  if (asked.query.starts_with(kModel))
    return ready_model(decode_part(asked.query.substr(kModel.size())));
  boost::json::array away;
  for (const ServedModel& model : sources_.registry.list()) {
    if (sources_.gate.refusal_of(model)) away.emplace_back(model.name);
  }
  boost::json::object body{{"status", "ready"}};
  if (!away.empty()) body["unreachable"] = std::move(away);
  return {.body = boost::json::serialize(body)};
}

http::ServerReply Pages::ready_model(std::string_view name) const {
  const ServedModel* model = sources_.registry.find(name);
  if (model == nullptr) return error_reply(no_model(name));
  if (const auto failure = sources_.gate.refusal_of(*model)) return error_reply(*failure);
  if (model->residence) {
    if (const llm::ModelStatus reading = model->residence->status(); !reading.load_error.empty())
      return error_reply(load_failed(name, reading.load_error));
  }
  return {.body = R"({"status":"ready"})"};
}

http::ServerReply Pages::models(const Asked&, const RequestContext&) const {
  if (sources_.registry.state() == ServeState::kLoading) return error_reply(loading());
  return {.body = models_page(sources_.registry.list())};
}

http::ServerReply Pages::model(const Asked& asked, const RequestContext&) const {
  if (sources_.registry.state() == ServeState::kLoading) return error_reply(loading());
  const std::string name = name_in_path(asked);
  if (auto page = model_page(sources_.registry.list(), name)) return {.body = *std::move(page)};
  return error_reply(no_model(name));
}

http::ServerReply Pages::load(const Asked& asked, const RequestContext& by) const {
  return order(asked, by, ModelOrder::kLoad);
}

http::ServerReply Pages::unload(const Asked& asked, const RequestContext& by) const {
  return order(asked, by, ModelOrder::kUnload);
}

http::ServerReply Pages::order(const Asked& asked, const RequestContext& by,
                               ModelOrder order) const {
  if (const ServeState now = sources_.gate.state(); now != ServeState::kReady)
    return error_reply(now == ServeState::kLoading ? loading() : stopping());
  const auto ordered = give_order(sources_.registry, name_in_path(asked), order, by.sees_all());
  if (const auto* failure = std::get_if<llm::Failure>(&ordered)) return error_reply(*failure);
  return {.body = model_page(std::get<ServedModel>(ordered))};
}

// The usage of a key is shown to that key and to admins.
std::vector<KeyReading> Pages::keys_shown_to(const RequestContext& admitted) const {
  std::vector<KeyReading> keys = sources_.accounts.read();
  if (!admitted.sees_all() && !options_.open_metrics) {
    std::erase_if(keys, [&](const KeyReading& key) { return key.name != admitted.record().key; });
  }
  std::map<uint64_t, KeyReading*> by_tenant;
  for (KeyReading& key : keys)
    by_tenant[dispatch::tenant_id(key.name)] = &key;
  std::set<const dispatch::Dispatcher*> seen;
  for (const ServedModel& model : sources_.registry.list()) {
    if (by_tenant.empty() || !seen.insert(model.dispatcher).second) continue;
    for (const dispatch::TenantReading& tenant : model.dispatcher->tenants()) {
      const auto found = by_tenant.find(tenant.tenant);
      if (found == by_tenant.end()) continue;
      found->second->waiting += tenant.waiting;
      found->second->running += tenant.out;
    }
  }
  return keys;
}

http::ServerReply Pages::metrics(const Asked&, const RequestContext& by) const {
  const PortReading port = sources_.port();
  PageReadings readings{.version = options_.version,
                        .state = sources_.gate.state(),
                        .connections = port.connections,
                        .requests_arriving = port.arriving,
                        .calls_live = sources_.live.count(),
                        .keys = keys_shown_to(by),
                        .bytes_inside = static_cast<int64_t>(sources_.admission.bytes()),
                        .bytes_inside_max = static_cast<int64_t>(sources_.admission.bytes_max()),
                        .answer_bytes = static_cast<int64_t>(sources_.answer_room.bytes()),
                        .answer_bytes_max = static_cast<int64_t>(sources_.answer_room.bytes_max()),
                        .answers_without_room = sources_.answer_room.refused(),
                        .unsent_bytes = port.unsent_bytes,
                        .slow_readers_dropped = port.slow_readers_dropped,
                        .responses_kept = static_cast<int64_t>(sources_.responses.count()),
                        .responses_kept_bytes = static_cast<int64_t>(sources_.responses.bytes())};
  if (sources_.models) readings.models = sources_.models();
  readings.process = read_process();
  return {.content_type = kMetricsContentType,
          .body = metrics_page(sources_.metrics.read(), readings, [this](MetricsWriter& page) {
            for (const std::unique_ptr<ServerPart>& part : sources_.parts)
              part->metrics(page);
          })};
}

http::ServerReply Pages::requests(const Asked&, const RequestContext& by) const {
  std::optional<std::string_view> of_key;
  if (!by.sees_all()) of_key = by.record().key;
  json::object page = sources_.live.to_json(sources_.clock.now(), kShownMax, of_key);
  for (const std::unique_ptr<ServerPart>& part : sources_.parts)
    part->add_requests(page, of_key);
  return {.body = json::serialize(page)};
}

http::ServerReply Pages::response(const Asked& asked, const RequestContext& by) const {
  return show_response(sources_.responses, by.record().key, decode_part(asked.parts.front()),
                       asked.query);
}

http::ServerReply Pages::delete_response(const Asked& asked, const RequestContext& by) const {
  return windrow::api::delete_response(sources_.responses, by.record().key,
                                       decode_part(asked.parts.front()));
}

http::ServerReply Pages::compacted_response(const Asked&, const RequestContext&) const {
  return error_reply(nothing_compacted());
}

http::ServerReply Pages::openapi(const Asked&, const RequestContext&) const {
  return {.body = description_};
}

http::ServerReply Pages::ollama_tags(const Asked&, const RequestContext&) const {
  if (sources_.registry.state() == ServeState::kLoading)
    return error_reply(loading(), Dialect::kOllamaChat);
  return {.body = windrow::api::ollama_tags(sources_.registry.list())};
}

http::ServerReply Pages::ollama_ps(const Asked&, const RequestContext&) const {
  return {.body = windrow::api::ollama_ps(sources_.registry.list())};
}

http::ServerReply Pages::ollama_show(const Asked& asked, const RequestContext&) const {
  if (sources_.registry.state() == ServeState::kLoading)
    return error_reply(loading(), Dialect::kOllamaChat);
  auto shown = windrow::api::ollama_show(sources_.registry, asked.body);
  if (const auto* failure = std::get_if<llm::Failure>(&shown))
    return error_reply(*failure, Dialect::kOllamaChat);
  return {.body = std::move(std::get<std::string>(shown))};
}

http::ServerReply Pages::ollama_version(const Asked&, const RequestContext&) const {
  return {.body = boost::json::serialize(boost::json::object{{"version", options_.version}})};
}

http::ServerReply show_response(ResponseStore& store, std::string_view key, std::string_view id,
                                std::string_view query) {
  const Query asked(query);
  if (const auto problem =
          asked.only({"include", "include[]", "include_obfuscation", "stream", "starting_after"}))
    return error_reply(*problem);
  if (asked.text("stream").value_or("false") != "false") {
    return error_reply(
        llm::unsupported("stream", "a response that is kept is sent as a whole; take stream out"));
  }
  auto body = store.body(key, id);
  if (const auto* failure = std::get_if<llm::Failure>(&body)) return error_reply(*failure);
  return {.body = std::move(std::get<std::string>(body))};
}

http::ServerReply delete_response(ResponseStore& store, std::string_view key, std::string_view id) {
  if (!store.erase(key, id)) return error_reply(store.no_response(id));
  return {.body =
              json::serialize(json::object{{"id", id}, {"object", "response"}, {"deleted", true}})};
}

http::ServerReply show_input_items(ResponseStore& store, std::string_view key, std::string_view id,
                                   std::string_view query) {
  const Query asked(query);
  if (const auto problem = asked.only({"after", "limit", "order", "include", "include[]"}))
    return error_reply(*problem);
  int64_t limit = 0;
  if (const auto problem = asked.number("limit", kItemsDefault, limit))
    return error_reply(*problem);
  if (const auto problem = bad_limit(limit)) return error_reply(*problem);
  const std::string order = asked.text("order").value_or("desc");
  if (order != "desc" && order != "asc") {
    return error_reply(llm::bad_value(
        "order",
        fmt::format("order is \"{}\"; it must be \"desc\" or \"asc\"", llm::shown(order))));
  }
  auto found = store.input_items(key, id);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return error_reply(*failure);
  auto& items = std::get<json::array>(found);
  if (order == "desc") std::reverse(items.begin(), items.end());
  if (const auto after = asked.text("after")) {
    if (const auto problem = begin_after(*after, items)) return error_reply(*problem);
  }
  const bool has_more = items.size() > static_cast<size_t>(limit);
  if (has_more) items.resize(static_cast<size_t>(limit));
  return {.body = json::serialize(list_page(std::move(items), has_more))};
}

}  // namespace windrow::api
