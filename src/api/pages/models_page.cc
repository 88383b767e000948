#include "api/pages/models_page.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>

#include "api/wire/dialect.h"
#include "api/wire/ollama_reply.h"
#include "api/wire/refusals.h"
#include "base/text_encoding.h"
#include "base/utf8.h"
#include "json/limits.h"
#include "llm/field_values.h"

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

namespace {

// Models are unloaded when their memory is needed, which is not a known time.
constexpr std::string_view kNoEnd = "9999-12-31T23:59:59Z";

// Small, because the body is read on the loop's thread.
constexpr size_t kShowBytesMax = 16384;

// Unknown details are empty texts.
json::object details_of(const ServedModel& model) {
  return {{"parent_model", ""},   {"format", model.raw ? "" : "gguf"},
          {"family", ""},         {"families", json::array()},
          {"parameter_size", ""}, {"quantization_level", ""}};
}

uint64_t size_of(const ServedModel& model) {
  return model.residence ? model.residence->status().memory_bytes : 0;
}

json::object listed(const ServedModel& model) {
  return {{"name", model.name},
          {"model", model.name},
          {"size", size_of(model)},
          {"digest", model.fingerprint},
          {"details", details_of(model)}};
}

bool is_loaded(const ServedModel& model) {
  return !model.residence || model.residence->status().state == llm::LoadState::kLoaded;
}

json::array capabilities_of(const ServedModel& model) {
  json::array all;
  if (model.endpoints.contains(llm::Endpoint::kCompletions) ||
      model.endpoints.contains(llm::Endpoint::kChatCompletions))
    all.emplace_back("completion");
  if (model.endpoints.contains(llm::Endpoint::kChatCompletions)) all.emplace_back("tools");
  if (model.endpoints.contains(llm::Endpoint::kEmbeddings)) all.emplace_back("embedding");
  return all;
}

}  // namespace

std::string ollama_tags(std::span<const ServedModel> models) {
  json::array all;
  for (const ServedModel& model : models) {
    json::object one = listed(model);
    one["modified_at"] = utc_stamp(model.created_unix_s);
    all.push_back(std::move(one));
  }
  return json::serialize(json::object{{"models", std::move(all)}});
}

std::string ollama_ps(std::span<const ServedModel> models) {
  json::array all;
  for (const ServedModel& model : models) {
    if (!is_loaded(model)) continue;
    json::object one = listed(model);
    one["expires_at"] = kNoEnd;
    one["size_vram"] = 0;
    if (model.context_tokens > 0) one["context_length"] = model.context_tokens;
    all.push_back(std::move(one));
  }
  return json::serialize(json::object{{"models", std::move(all)}});
}

std::variant<std::string, llm::Failure> ollama_show(const ModelRegistry& registry,
                                                    std::string_view body) {
  if (body.size() > kShowBytesMax) {
    return llm::Failure{.status = 413,
                        .code = "request_too_large",
                        .message = "the body must be {\"model\": ...} and no more"};
  }
  boost::system::error_code error;
  const json::value parsed = json::parse(body, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !parsed.is_object()) {
    return llm::Failure{.status = 400,
                        .code = "invalid_json",
                        .message = "the body must be a JSON object, {\"model\": ...}"};
  }
  const json::object& asked = parsed.get_object();
  const json::value* name = asked.if_contains("model");
  if (name == nullptr) name = asked.if_contains("name");
  std::string wanted;
  if (name == nullptr)
    return llm::missing_parameter("model", "the body has no model; /api/tags lists them");
  if (llm::Problem problem = llm::read_string(*name, "model", wanted)) return *std::move(problem);
  const ServedModel* model = find_tagged(registry, wanted);
  if (model == nullptr) return no_model(wanted);
  json::object info{{"general.architecture", "windrow"}};
  if (model->context_tokens > 0) info["windrow.context_length"] = model->context_tokens;
  return json::serialize(json::object{{"modelfile", ""},
                                      {"parameters", ""},
                                      {"template", ""},
                                      {"details", details_of(*model)},
                                      {"model_info", std::move(info)},
                                      {"capabilities", capabilities_of(*model)},
                                      {"modified_at", utc_stamp(model->created_unix_s)}});
}

}  // namespace windrow::api
