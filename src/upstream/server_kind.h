// Which server an upstream is, as far as it shows, and which of its own settings make it answer
// several requests at a time. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace windrow::upstream {

enum class ServerKind : uint8_t {
  kUnknown,
  kOllama,
  kLlamaServer,
  kVllm,
  kSglang,
  kMlx,
  kLmStudio,
  kSimulated,  // windrow sim-upstream
};

// What servers say without being asked for it; each may be empty.
struct ServerSigns {
  std::string server;          // the header of this name, of any reply
  std::string models;          // the body of /v1/models
  std::string ollama_version;  // the body of /api/version, when the reply was 200
};

struct ServerIdentity {
  ServerKind kind = ServerKind::kUnknown;
  std::string version;  // of Ollama; else empty

  friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
};

ServerIdentity identity_of(const ServerSigns& signs);

// "Ollama 0.12.3"; "vLLM"; empty for an unknown one.
std::string to_string(const ServerIdentity& identity);

// What to do about a server that answers one request at a time; one or two sentences.
std::string advice_if_serial(ServerKind kind);

// What to do where more requests in flight bring nothing, or are refused; empty: nothing is known.
std::string advice_for_more(ServerKind kind);

}  // namespace windrow::upstream
