#include "app/settings/fleet_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/process/open_files.h"
#include "base/format.h"
#include "http/proxy.h"

namespace windrow::app {
namespace {

engine::FlashAttention flash_attention_of(std::string_view name) {
  if (name == "on") return engine::FlashAttention::kOn;
  if (name == "off") return engine::FlashAttention::kOff;
  return engine::FlashAttention::kAuto;
}

engine::SplitMode split_mode_of(std::string_view name) {
  if (name == "row") return engine::SplitMode::kRow;
  if (name == "none") return engine::SplitMode::kNone;
  return engine::SplitMode::kLayer;
}

constexpr uint64_t kPartOfMachine = 16;

// Less memory than this (in bytes) is taken for a number whose unit was forgotten.
constexpr uint64_t kMemoryMin = 1'000'000;

Error invalid_pool(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

Result<std::vector<bool>> marked(std::string_view flag, const std::vector<std::string>& wanted,
                                 std::span<const std::string> names) {
  std::vector<bool> marks(names.size());
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return invalid_pool(fmt::format("--{} {}: no model has this name; there is {}", flag, name,
                                      fmt::join(names, ", ")));
    }
    marks[static_cast<size_t>(found - names.begin())] = true;
  }
  return marks;
}

}  // namespace

std::string backends_folder() {
  if (const char* named = std::getenv("WINDROW_GGML_BACKENDS"); named != nullptr) return named;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path beside = self.parent_path() / "../lib/windrow/backends";
  return std::filesystem::is_directory(beside, error) ? beside.lexically_normal().string() : "";
}

engine::DeviceChoice device_choice(const Settings& settings) {
  return {.names = settings.device,
          .gpu_layers = static_cast<int32_t>(settings.gpu_layers),
          .split = split_mode_of(settings.split_mode),
          .shares = settings.tensor_split};
}

fleet::EngineOptions engine_options(SettingsOf command, const Settings& settings) {
  return {.backends_folder = backends_folder(),
          .rpc_workers = settings.rpc_workers,
          .devices = device_choice(settings),
          .context_tokens = static_cast<int32_t>(settings.ctx_tokens),
          .rows_max = static_cast<int32_t>(settings.rows_max),
          .batch_tokens = static_cast<int32_t>(settings.batch_tokens),
          .threads = static_cast<int32_t>(settings.threads),
          .kv_type = engine::parse_kv_type(settings.kv_type).value_or(engine::KvType::kF16),
          .flash_attention = flash_attention_of(settings.flash_attn),
          .kv_cache =
              settings.kv_cache == "split" ? engine::KvCache::kSplit : engine::KvCache::kUnified,
          .share_prefixes = settings.share,
          .step_target = std::chrono::milliseconds(step_target_ms(command, settings)),
          .output_tokens_default = static_cast<int32_t>(settings.output_tokens_default),
          .call_reasoning_percent = static_cast<int32_t>(settings.call_reasoning_percent),
          .schema_unknown = settings.schema_unknown == "refuse" ? llm::UnknownWords::kRefuse
                                                                : llm::UnknownWords::kAnnotate,
          .pack_window = std::chrono::milliseconds(settings.pack_window_ms),
          .pack_rows_max = static_cast<int32_t>(settings.pack_rows_max),
          .linger_max = std::chrono::microseconds(settings.linger_us_max)};
}

fleet::LocalFleetOptions local_fleet_options(SettingsOf command, const Settings& settings) {
  return {.engine = engine_options(command, settings),
          .single_flight = settings.dedupe,
          .version = WINDROW_VERSION,
          .queue_max = static_cast<int32_t>(settings.queue_max),
          .unload_idle = std::chrono::seconds(settings.unload_idle_s)};
}

fleet::UpstreamFleetOptions upstream_fleet_options(const Settings& settings,
                                                   std::vector<fleet::UpstreamChoice> choices,
                                                   fleet::Spending spending,
                                                   const Environment& environment,
                                                   uint64_t files_max, int32_t requests_max) {
  fleet::UpstreamFleetOptions options{
      .choices = std::move(choices),
      .client = client_options(environment),
      .reply_memory_bytes = reply_memory_bytes(settings.reply_memory_mb, machine_memory_bytes()),
      .attempts_max = static_cast<int32_t>(settings.attempts_max),
      .queue_max = static_cast<int32_t>(settings.queue_max),
      .refusal_patience = std::chrono::seconds(settings.refusal_patience_s),
      .pack_rows_max = settings.batching ? static_cast<int32_t>(settings.pack_rows_max) : 1,
      .pack_window = std::chrono::milliseconds(settings.pack_window_ms),
      .single_flight = settings.dedupe,
      .self_check = settings.self_check,
      .cache = settings.cache,
      .spending = std::move(spending),
      .requests_max = requests_max,
      .requests_max_warning = requests_bound_text(files_max, requests_max)};
  // A few more connections for questions that are no requests of the job.
  options.client.connections_max =
      static_cast<size_t>(requests_max) + static_cast<size_t>(own_files(files_max) / 4);
  return options;
}

http::ClientOptions client_options(const Environment& environment) {
  return {.proxies = http::read_proxy_settings(
              [&](const std::string& name) { return variable(environment, name); }),
          .ca_file = variable(environment, "SSL_CERT_FILE")};
}

size_t reply_memory_bytes(int64_t setting_mb, uint64_t machine_bytes) {
  if (setting_mb > 0) return static_cast<size_t>(setting_mb) << 20U;
  return std::clamp<size_t>(machine_bytes / kPartOfMachine, kReplyMemoryMin, kReplyMemoryMax);
}

uint64_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

std::optional<uint64_t> parse_memory_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr double kMost = 1e18;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const size_t power = kUnits.find(unit.front());
    if (power == std::string_view::npos) return std::nullopt;
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "iB" && unit != "B") return std::nullopt;
    factor = std::pow(unit == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double bytes = std::round(number * factor);
  if (bytes > kMost) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

Result<fleet::PoolOptions> pool_options(const Settings& settings,
                                        std::span<const std::string> names) {
  fleet::PoolOptions pool;
  if (!settings.memory.empty()) {
    const std::optional<uint64_t> bytes = parse_memory_size(settings.memory);
    if (!bytes || *bytes == 0) {
      return invalid_pool(
          fmt::format("--memory {}: write an amount such as 12G or 800M", settings.memory));
    }
    if (*bytes < kMemoryMin) {
      return invalid_pool(fmt::format(
          "--memory {} is {}, too little for any model; write an amount such as 12G or 800M",
          settings.memory, human_bytes(*bytes)));
    }
    pool.memory_bytes = *bytes;
  }
  Result<std::vector<bool>> kept = marked("keep-loaded", settings.keep_loaded, names);
  if (!kept) return kept.error();
  pool.pinned = *std::move(kept);
  if (settings.load.empty()) return pool;
  Result<std::vector<bool>> first = marked("load", settings.load, names);
  if (!first) return first.error();
  pool.loads_first = *std::move(first);
  return pool;
}

}  // namespace windrow::app
