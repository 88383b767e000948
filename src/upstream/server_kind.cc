#include "upstream/server_kind.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "json/limits.h"
#include "json/values.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

std::optional<json::object> object_in(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error, {},
                                  {.max_depth = kJsonDepthMax});
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

// The owner of the first model: many servers write their own name there.
std::string owner_in(std::string_view models) {
  const std::optional<json::object> body = object_in(models);
  const json::value* data = body ? body->if_contains("data") : nullptr;
  if (data == nullptr || !data->is_array() || data->get_array().empty()) return "";
  const json::object* first = data->get_array().front().if_object();
  return first == nullptr ? "" : std::string(text_in(*first, "owned_by"));
}

ServerKind kind_of_owner(std::string_view owner) {
  if (owner == "llamacpp") return ServerKind::kLlamaServer;
  if (owner == "vllm") return ServerKind::kVllm;
  if (owner == "sglang") return ServerKind::kSglang;
  if (owner == "organization_owner") return ServerKind::kLmStudio;
  if (owner == "windrow") return ServerKind::kSimulated;
  return ServerKind::kUnknown;
}

}  // namespace

ServerIdentity identity_of(const ServerSigns& signs) {
  if (const std::optional<json::object> version = object_in(signs.ollama_version)) {
    if (std::string text(text_in(*version, "version")); !text.empty())
      return {.kind = ServerKind::kOllama, .version = std::move(text)};
  }
  if (const ServerKind kind = kind_of_owner(owner_in(signs.models)); kind != ServerKind::kUnknown)
    return {.kind = kind, .version = {}};
  if (signs.server.starts_with("llama.cpp")) return {.kind = ServerKind::kLlamaServer};
  // Python's own small HTTP server, which few other model servers are built on.
  if (signs.server.starts_with("BaseHTTP/")) return {.kind = ServerKind::kMlx};
  return {};
}

std::string to_string(const ServerIdentity& identity) {
  switch (identity.kind) {
    case ServerKind::kUnknown:
      return "";
    case ServerKind::kOllama:
      return identity.version.empty() ? "Ollama" : fmt::format("Ollama {}", identity.version);
    case ServerKind::kLlamaServer:
      return "llama-server";
    case ServerKind::kVllm:
      return "vLLM";
    case ServerKind::kSglang:
      return "SGLang";
    case ServerKind::kMlx:
      return "mlx_lm.server";
    case ServerKind::kLmStudio:
      return "LM Studio";
    case ServerKind::kSimulated:
      return "windrow sim-upstream";
  }
  return "";
}

std::string advice_if_serial(ServerKind kind) {
  switch (kind) {
    case ServerKind::kOllama:
      return "start it with OLLAMA_NUM_PARALLEL=8 in its environment (1 is its default; each slot "
             "wants memory for a context of its own). Some families of models, and those its MLX "
             "runner runs, are answered one at a time whatever it says";
    case ServerKind::kLlamaServer:
      return "start it with -np 8; -c is then shared by the slots, so make it 8 times as large";
    case ServerKind::kMlx:
      return "older versions of mlx_lm.server answer one request at a time: take one that has "
             "--decode-concurrency, or serve the model with another server that batches";
    case ServerKind::kLmStudio:
      return "raise \"Max Concurrent Predictions\" where the model is loaded; its MLX models may "
             "need a newer version for that";
    case ServerKind::kVllm:
      return "is it started with --max-num-seqs 1?";
    case ServerKind::kSglang:
      return "is it started with --max-running-requests 1?";
    case ServerKind::kSimulated:
      return "start it with --slots 8";
    case ServerKind::kUnknown:
      return "servers have a setting for it (Ollama: OLLAMA_NUM_PARALLEL, llama-server: -np, "
             "vLLM: --max-num-seqs); without one, run several servers and name each with "
             "--upstream";
  }
  return "";
}

std::string advice_for_more(ServerKind kind) {
  switch (kind) {
    case ServerKind::kOllama:
      return "OLLAMA_NUM_PARALLEL sets how many Ollama answers together, OLLAMA_MAX_QUEUE how many "
             "may wait";
    case ServerKind::kLlamaServer:
      return "-np sets how many llama-server answers together";
    case ServerKind::kMlx:
      return "--decode-concurrency sets how many mlx_lm.server answers together";
    case ServerKind::kLmStudio:
      return "\"Max Concurrent Predictions\" sets how many LM Studio answers together";
    case ServerKind::kVllm:
      return "--max-num-seqs sets how many vLLM answers together at most; its memory may allow "
             "fewer";
    case ServerKind::kSglang:
      return "--max-running-requests sets how many SGLang answers together at most; its memory may "
             "allow fewer";
    case ServerKind::kSimulated:
      return "--slots sets how many are answered together";
    case ServerKind::kUnknown:
      return "";
  }
  return "";
}

}  // namespace windrow::upstream
