#include "upstream/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <optional>
#include <system_error>
#include <variant>

#include "json/limits.h"

namespace windrow::upstream {
namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

bool is_in_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9');
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

void skip_blanks(std::string_view& line) {
  while (!line.empty() && is_blank(line.front()))
    line.remove_prefix(1);
}

// Empty: the line has none.
std::string_view take_name(std::string_view& line) {
  size_t count = 0;
  if (!line.empty() && begins_name(line.front())) {
    while (count < line.size() && is_in_name(line[count]))
      ++count;
  }
  const std::string_view name = line.substr(0, count);
  line.remove_prefix(count);
  return name;
}

// Skips the labels; `line` begins behind the "{". A quoted value may hold a "}", and "\"" for a
// quote. False: the labels never end.
bool skip_labels(std::string_view& line) {
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '\\') {
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == '}' && !quoted) {
      line.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

// "0.5", "1e+06", "+Inf", "NaN"; a time may follow.
std::optional<double> take_value(std::string_view line) {
  size_t count = 0;
  while (count < line.size() && !is_blank(line[count]))
    ++count;
  std::string_view word = line.substr(0, count);
  if (word.starts_with('+')) {
    word.remove_prefix(1);
    if (word.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  skip_blanks(line);
  MetricSample sample;
  sample.name = take_name(line);
  if (sample.name.empty()) return std::nullopt;
  const bool separated = !line.empty() && is_blank(line.front());
  skip_blanks(line);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    if (!skip_labels(line)) return std::nullopt;
    skip_blanks(line);
  } else if (!separated) {
    return std::nullopt;
  }
  const std::optional<double> value = take_value(line);
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

std::optional<MetricSample> MetricsText::next() {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (const std::optional<MetricSample> sample = sample_of(line)) return sample;
  }
  return std::nullopt;
}

namespace json = boost::json;

namespace {

// The share of the KV cache in use, by the names that servers give it. llama-server removed its own
// in 2025.
constexpr std::array<std::string_view, 4> kCacheUsed = {
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",  // older versions
    "sglang:token_usage",
    "llamacpp:kv_cache_usage_ratio",
};

// Triton has one for each GPU.
constexpr std::string_view kDeviceBytes = "nv_gpu_memory_used_bytes";

// More than any device has: such a value is ignored.
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
    // Also false for NaN.
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

namespace {

constexpr Duration kFirstInterval = std::chrono::seconds(1);
constexpr Duration kLongestInterval = std::chrono::seconds(10);
constexpr Duration kPollAnswerTimeout = std::chrono::seconds(10);

// A metrics page has some hundred kilobytes.
constexpr size_t kPollReplyBytesMax = size_t{4} << 20;

constexpr int kUselessMax = 3;

// Neither of these two has metrics, and the first answers one request at a time: the question would
// queue behind the rows.
bool can_tell(ServerKind kind) {
  return kind != ServerKind::kMlx && kind != ServerKind::kLmStudio;
}

// Absent: there was no answer.
std::optional<MemoryReading> reading_in(ServerKind kind, const http::ClientResult& result) {
  const auto* reply = std::get_if<http::ClientReply>(&result);
  if (reply == nullptr || reply->head.status != 200) return std::nullopt;
  return kind == ServerKind::kOllama ? memory_in_models(reply->body)
                                     : memory_in_metrics(reply->body);
}

}  // namespace

struct MemoryPoll::State {
  mutable std::mutex mutex;
  Reading reading;
  bool is_asking = false;
  bool has_reading = false;
  int useless = 0;  // answers before the first reading
  TimePoint due{};
  Duration interval = kFirstInterval;

  void take(const std::optional<MemoryReading>& now) {
    const std::scoped_lock lock(mutex);
    is_asking = false;
    has_reading = has_reading || (now && now->is_known());
    if (!has_reading) ++useless;
    if (!now) return;  // the last reading stays
    reading.now = *now;
    reading.most.device_bytes = std::max(reading.most.device_bytes, now->device_bytes);
    // An absent number is less than any.
    reading.most.cache_used = std::max(reading.most.cache_used, now->cache_used);
  }
};

MemoryPoll::MemoryPoll(http::Client& client, const Clock& clock, const UpstreamOptions& options,
                       ServerKind kind)
    : client_(client), clock_(clock), kind_(kind), state_(std::make_shared<State>()) {
  request_.url = kind == ServerKind::kOllama ? at_root(options.base, "/api/ps")
                                             : beside_version(options.base, "/metrics");
  request_.headers = options.headers;
  if (!options.api_key.empty())
    request_.headers.set("Authorization", fmt::format("Bearer {}", options.api_key));
  request_.limits.total = kPollAnswerTimeout;
  request_.limits.reply_bytes_max = kPollReplyBytesMax;
}

void MemoryPoll::ask_when_due() {
  if (!can_tell(kind_)) return;
  {
    const std::scoped_lock lock(state_->mutex);
    const TimePoint now = clock_.now();
    if (state_->is_asking || state_->useless >= kUselessMax || now < state_->due) return;
    state_->is_asking = true;
    state_->due = now + state_->interval;
    state_->interval = std::min(state_->interval * 2, kLongestInterval);
  }
  client_.send(request_, [kind = kind_, state = state_](const http::ClientResult& result) {
    state->take(reading_in(kind, result));
  });
}

MemoryPoll::Reading MemoryPoll::reading() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->reading;
}

}  // namespace windrow::upstream
