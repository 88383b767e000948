#include "sim_upstream/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <utility>

#include "base/hash.h"
#include "json/limits.h"

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

constexpr std::string_view kAnyModel = "sim";
constexpr int64_t kModelBytes = 4'000'000'000;
constexpr std::string_view kWhen = "2026-01-01T00:00:00Z";

json::object details_json() {
  return {{"format", "gguf"},
          {"family", "sim"},
          {"parameter_size", "8.0B"},
          {"quantization_level", "Q4_K_M"}};
}

json::object ollama_model(const std::string& model) {
  return {{"name", model},
          {"model", model},
          {"size", kModelBytes},
          {"digest", fmt::format("{0}{0}{0}{0}", to_hex(hash64(model)))},
          {"details", details_json()}};
}

std::string models_list(json::array models) {
  return json::serialize(json::object{{"models", std::move(models)}});
}

std::string ollama_tags_body(std::span<const std::string> models) {
  json::array list;
  for (const std::string& model : models) {
    json::object entry = ollama_model(model);
    entry["modified_at"] = kWhen;
    list.push_back(std::move(entry));
  }
  return models_list(std::move(list));
}

std::string ollama_ps_body(std::span<const std::string> models, int64_t context_tokens) {
  json::array list;
  for (const std::string& model : models) {
    json::object entry = ollama_model(model);
    entry["expires_at"] = kWhen;
    entry["size_vram"] = kModelBytes;
    entry["context_length"] = context_tokens;
    list.push_back(std::move(entry));
  }
  return models_list(std::move(list));
}

std::string ollama_show_body(int64_t context_tokens) {
  // The model could do more than the server gives it, as is usual.
  return json::serialize(
      json::object{{"parameters", fmt::format("num_ctx {}", context_tokens)},
                   {"template", "{{ .Prompt }}"},
                   {"details", details_json()},
                   {"model_info", json::object{{"general.architecture", "sim"},
                                               {"sim.context_length", 4 * context_tokens},
                                               {"sim.embedding_length", 4096}}},
                   {"capabilities", json::array{"completion", "embedding"}}});
}

// Ollama's requests name a model as {"model": NAME}, those of older clients as {"name": NAME}.
std::string model_named_in(std::string_view body) {
  boost::system::error_code error;
  const json::value parsed = json::parse(body, error, {}, {.max_depth = kJsonDepthMax});
  if (error) return {};
  for (const std::string_view pointer : {"/model", "/name"}) {
    const json::value* name = parsed.find_pointer(pointer, error);
    if (name != nullptr && name->is_string()) return json::value_to<std::string>(*name);
  }
  return {};
}

}  // namespace

std::string models_body(std::span<const std::string> models, int64_t created_s,
                        int64_t context_tokens) {
  json::array data;
  for (const std::string& model : models) {
    data.push_back(json::object{{"id", model},
                                {"object", "model"},
                                {"created", created_s},
                                {"owned_by", "windrow"},
                                {"max_model_len", context_tokens}});
  }
  return json::serialize(json::object{{"object", "list"}, {"data", std::move(data)}});
}

std::string metrics_text(std::string_view model, const SimStats& stats, const LoadNow& load) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type, auto value) {
    text += fmt::format("# TYPE vllm:{0} {1}\nvllm:{0}{{model_name=\"{2}\"}} {3}\n", name, type,
                        model, value);
  };
  add("num_requests_running", "gauge", load.busy);
  add("num_requests_waiting", "gauge", load.waiting);
  add("kv_cache_usage_perc", "gauge", load.kv_usage);
  add("prompt_tokens_total", "counter", stats.prompt_tokens);
  add("generation_tokens_total", "counter", stats.answer_tokens);
  add("prefix_cache_queries_total", "counter", stats.prompt_tokens);
  add("prefix_cache_hits_total", "counter", stats.cached_tokens);
  return text;
}

ModelPages::ModelPages(const SimOptions& options, int64_t created_s)
    : options_(options), created_s_(created_s), names_(options.models) {
  if (names_.empty()) names_.emplace_back(kAnyModel);
}

std::optional<SimReply> ModelPages::refuse_model(std::string_view model) const {
  if (options_.models.empty() || std::ranges::find(options_.models, model) != options_.models.end())
    return std::nullopt;
  return error_reply(404,
                     fmt::format("The model `{}` does not exist; there are: {}", model,
                                 fmt::join(options_.models, ", ")),
                     kInvalidRequest, "model_not_found");
}

SimReply ModelPages::answer(std::string_view path, std::string_view body) const {
  if (path == "/v1/models")
    return {.body = models_body(names_, created_s_, options_.context_tokens)};
  if (options_.ollama && path.starts_with("/api/")) return answer_ollama(path, body);
  return error_reply(404, fmt::format("there is nothing at {}", path), kInvalidRequest);
}

SimReply ModelPages::answer_ollama(std::string_view path, std::string_view body) const {
  if (path == "/api/version") return {.body = R"({"version":"0.12.0"})"};
  if (path == "/api/tags") return {.body = ollama_tags_body(names_)};
  if (path == "/api/ps") return {.body = ollama_ps_body(names_, options_.context_tokens)};
  const bool loads = path == "/api/generate" || path == "/api/embed";
  if (loads || path == "/api/show") {
    if (std::optional<SimReply> refusal = refuse_model(model_named_in(body)))
      return *std::move(refusal);
    // Without a prompt a request to generate only loads the model; no more of it is simulated.
    return {.body = loads ? R"({"response":"","embeddings":[],"done":true})"
                          : ollama_show_body(options_.context_tokens)};
  }
  return error_reply(404, fmt::format("there is nothing at {}", path), kInvalidRequest);
}

}  // namespace windrow::sim_upstream
