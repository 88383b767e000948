#include "upstream/device_memory.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "json/depth.h"
#include "upstream/metrics_text.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

// A part of 1, under all of these names. llama-server had it until it was taken out in 2025.
constexpr std::array<std::string_view, 4> kCacheUsed = {
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",  // of older versions
    "sglang:token_usage",
    "llamacpp:kv_cache_usage_ratio",
};

// Triton's, for each of its GPUs.
constexpr std::string_view kDeviceBytes = "nv_gpu_memory_used_bytes";

// More than a device has: then it is none.
constexpr double kDeviceBytesMax = 1e15;

}  // namespace

MemoryReading memory_in_models(std::string_view loaded_models) {
  boost::system::error_code error;
  const json::value body = json::parse(loaded_models, error, {}, {.max_depth = kJsonDepthMax});
  const json::object* object = error ? nullptr : body.if_object();
  const json::value* models = object == nullptr ? nullptr : object->if_contains("models");
  MemoryReading reading;
  if (models == nullptr || !models->is_array()) return reading;
  for (const json::value& model : models->get_array()) {
    const json::object* facts = model.if_object();
    const json::value* bytes = facts == nullptr ? nullptr : facts->if_contains("size_vram");
    if (bytes == nullptr || !bytes->is_number()) continue;
    const auto count = bytes->to_number<uint64_t>(error);
    if (!error) reading.device_bytes += count;
  }
  return reading;
}

MemoryReading memory_in_metrics(std::string_view metrics) {
  MemoryReading reading;
  double bytes = 0;
  MetricsText text(metrics);
  while (const std::optional<MetricSample> sample = text.next()) {
    // Also false for what is no number.
    if (!(sample->value >= 0)) continue;
    if (sample->name == kDeviceBytes) {
      bytes += sample->value;
    } else if (std::ranges::find(kCacheUsed, sample->name) != kCacheUsed.end()) {
      reading.cache_used = std::max(reading.cache_used.value_or(0), std::min(sample->value, 1.0));
    }
  }
  if (bytes <= kDeviceBytesMax) reading.device_bytes = static_cast<uint64_t>(bytes);
  return reading;
}

}  // namespace windrow::upstream
