// Which product an upstream server is, as far as it shows, and which of its own settings make it
// answer several requests at a time. Pure.
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

// What shows which product a server is; each may be empty.
struct ServerSigns {
  std::string server;          // the header `Server` of any reply
  std::string models;          // the body of /v1/models
  std::string ollama_version;  // the body of /api/version, when the reply was 200
};

struct ServerIdentity {
  ServerKind kind = ServerKind::kUnknown;
  std::string version;  // Ollama's; empty for others

  friend bool operator==(const ServerIdentity&, const ServerIdentity&) = default;
};

ServerIdentity identity_of(const ServerSigns& signs);

// "Ollama 0.12.3"; "vLLM"; empty for an unknown one.
std::string to_string(const ServerIdentity& identity);

// Advice for a server that answers one request at a time; one or two sentences.
std::string advice_if_serial(ServerKind kind);

// Advice where more requests in flight are refused or bring nothing; empty: there is none.
std::string advice_for_more(ServerKind kind);

}  // namespace windrow::upstream
