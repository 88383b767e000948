#include "api/pages/models_page.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>

#include "api/wire/dialect.h"
#include "base/text_encoding.h"
#include "base/utf8.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

json::object model_json(const ServedModel& model) {
  json::object object{{"id", model.name},
                      {"object", "model"},
                      {"created", model.created_unix_s},
                      {"owned_by", model.owner}};
  // vLLM's name for it.
  if (model.context_tokens > 0) object["max_model_len"] = model.context_tokens;
  json::array endpoints;
  const auto add = [&](std::string_view url) {
    endpoints.emplace_back(json::string_view(url.data(), url.size()));
  };
  for (const llm::Endpoint endpoint : llm::endpoints()) {
    if (!model.endpoints.contains(endpoint)) continue;
    add(llm::url_of(endpoint));
    for (const Dialect dialect : dialects_of(endpoint))
      add(url_of(endpoint, dialect));
  }
  object["endpoints"] = std::move(endpoints);
  if (model.residence) {
    const llm::ModelStatus reading = model.residence->status();
    json::object windrow{{"state", to_string(reading.state)},
                         {"memory_bytes", reading.memory_bytes},
                         {"kept_loaded", reading.pinned},
                         {"requests_inside", reading.requests},
                         {"requests_waiting", reading.waiting}};
    if (!reading.load_error.empty()) windrow["load_error"] = reading.load_error;
    object["windrow"] = std::move(windrow);
  }
  return object;
}

}  // namespace

std::string models_page(std::span<const ServedModel> models) {
  json::array data;
  for (const ServedModel& model : models)
    data.push_back(model_json(model));
  return json::serialize(json::object{{"object", "list"}, {"data", std::move(data)}});
}

std::string model_page(const ServedModel& model) {
  return json::serialize(model_json(model));
}

std::optional<std::string> model_page(std::span<const ServedModel> models, std::string_view name) {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const ServedModel& model) { return model.name == name; });
  if (found == models.end()) return std::nullopt;
  return model_page(*found);
}

std::string decode_part(std::string_view part) {
  return utf8_repair(percent_decoded(part));
}

}  // namespace windrow::api
