// How full the memory of a server's device is, where it tells. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow::upstream {

struct MemoryReading {
  uint64_t device_bytes = 0;  // in use; 0: unknown

  // Of what is there for keys and values of tokens, from 0 to 1. Near 1 a server makes requests
  // wait or computes them again, whatever its limit of requests is.
  std::optional<double> cache_used;

  bool tells() const { return device_bytes > 0 || cache_used.has_value(); }

  friend bool operator==(const MemoryReading&, const MemoryReading&) = default;
};

// From the body of Ollama's /api/ps: that of all models that are loaded. Nothing for anything else.
MemoryReading memory_in_models(std::string_view loaded_models);

// From a metrics page (metrics_text.h) of vLLM, SGLang, llama-server or Triton. Of a server that
// has several engines it is the fullest of them, and the bytes of all. Nothing for anything else.
MemoryReading memory_in_metrics(std::string_view metrics);

}  // namespace windrow::upstream
