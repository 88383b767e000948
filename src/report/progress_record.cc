#include "report/progress_record.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <utility>

#include "json/values.h"
#include "report/upstream_figures.h"

namespace windrow::report {
namespace {

namespace json = boost::json;
using batch::JobPhase;

constexpr size_t kKindsRecorded = 8;

constexpr auto kPhaseNames = std::to_array<std::pair<JobPhase, std::string_view>>({
    {JobPhase::kOpening, "opening"},
    {JobPhase::kWaiting, "loading"},
    {JobPhase::kChecking, "checking"},
    {JobPhase::kRunning, "running"},
    {JobPhase::kStopping, "stopping"},
    {JobPhase::kOrdering, "ordering"},
    {JobPhase::kEnded, "ended"},
});

// 0 where there is no such number.
double real_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

int64_t count_in(const json::object& object, std::string_view name, int64_t otherwise = 0) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

bool flag_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Duration duration_of(double seconds) {
  // Far from where nanoseconds overflow.
  constexpr double kSecondsMax = 1e9;
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, kSecondsMax)));
}

json::array kinds_to_json(const std::vector<batch::FailureKind>& kinds, size_t kinds_max) {
  json::array array;
  for (size_t i = 0; i < std::min(kinds.size(), kinds_max); ++i) {
    array.push_back(json::object{
        {"status", kinds[i].status == 0 ? json::value(nullptr) : json::value(kinds[i].status)},
        {"code", kinds[i].code},
        {"rows", kinds[i].rows}});
  }
  return array;
}

std::vector<batch::FailureKind> kinds_in(const json::object& object) {
  std::vector<batch::FailureKind> kinds;
  const json::value* array = object.if_contains("failures");
  if (array == nullptr || !array->is_array()) return kinds;
  for (const json::value& value : array->get_array()) {
    const json::object* kind = value.if_object();
    if (kind == nullptr) continue;
    kinds.push_back({.status = static_cast<int32_t>(count_in(*kind, "status")),
                     .code = std::string(text_in(*kind, "code")),
                     .rows = count_in(*kind, "rows")});
  }
  return kinds;
}

llm::UpstreamStatus upstream_in(const json::object& object) {
  llm::UpstreamStatus upstream{
      .name = std::string(text_in(object, "name")),
      .answers = count_in(object, "answers"),
      .failures = count_in(object, "failures"),
      .prompt_tokens = count_in(object, "prompt_tokens"),
      .generated_tokens = count_in(object, "generated_tokens"),
      .latency_s = real_in(object, "latency_s"),
      .in_flight = static_cast<int32_t>(count_in(object, "in_flight")),
      .in_flight_max = static_cast<int32_t>(count_in(object, "in_flight_max")),
      .state = std::string(text_in(object, "state")),
      .finding = std::string(text_in(object, "finding"))};
  upstream.healthy = upstream.state == "ok";
  upstream.device_bytes = static_cast<uint64_t>(real_in(object, "device_bytes"));
  const auto share = [&](std::string_view name) -> std::optional<double> {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->to_number<double>();
  };
  upstream.cache_used = share("kv_cache_used");
  upstream.cache_used_max = share("kv_cache_used_max");
  return upstream;
}

ProgressNumbers numbers_in(const json::object& object, JobPhase phase) {
  ProgressNumbers numbers{
      .phase = phase,
      .rows_done = count_in(object, "rows_done"),
      .rows_total = count_in(object, "rows_total", -1),
      .rows_failed = count_in(object, "rows_failed"),
      .failures = kinds_in(object),
      .rows_running = static_cast<int32_t>(count_in(object, "rows_in_batch")),
      .rows_per_s = real_in(object, "rows_per_s"),
      .texts_per_s = real_in(object, "texts_per_s"),
      .prompt_tokens_per_s = real_in(object, "prompt_tokens_per_s"),
      .generated_tokens_per_s = real_in(object, "generated_tokens_per_s"),
      .prompts_only = flag_in(object, "prompts_only"),
      .texts_only = flag_in(object, "texts_only"),
      .one_text_a_row = flag_in(object, "one_text_a_row"),
      .prompt_reused = real_in(object, "prompt_reused"),
      .device_bytes_used = static_cast<uint64_t>(real_in(object, "device_bytes_used")),
      .device_bytes_max = static_cast<uint64_t>(real_in(object, "device_bytes_max")),
      .elapsed = duration_of(real_in(object, "elapsed_s")),
      .left = {},
      .upstreams = {}};
  if (const json::object* retries = object_in(object, "retrying")) {
    numbers.retries = {.waiting = static_cast<int32_t>(count_in(*retries, "rows")),
                       .try_next = static_cast<int32_t>(count_in(*retries, "attempt")),
                       .tries_max = static_cast<int32_t>(count_in(*retries, "attempts_max"))};
  }
  const json::value* left = object.if_contains("left_s");
  if (left != nullptr && left->is_number()) numbers.left = duration_of(left->to_number<double>());
  const json::value* upstreams = object.if_contains("upstreams");
  if (upstreams == nullptr || !upstreams->is_array()) return numbers;
  for (const json::value& upstream : upstreams->get_array()) {
    if (upstream.is_object()) numbers.upstreams.push_back(upstream_in(upstream.get_object()));
  }
  return numbers;
}

}  // namespace

std::string_view to_string(JobPhase phase) {
  const auto* found =
      std::ranges::find(kPhaseNames, phase, &std::pair<JobPhase, std::string_view>::first);
  return found == kPhaseNames.end() ? std::string_view() : found->second;
}

std::optional<JobPhase> phase_of(std::string_view text) {
  const auto* found =
      std::ranges::find(kPhaseNames, text, &std::pair<JobPhase, std::string_view>::second);
  if (found == kPhaseNames.end()) return std::nullopt;
  return found->first;
}

json::object progress_to_json(const ProgressNumbers& numbers) {
  json::array upstreams;
  for (const llm::UpstreamStatus& upstream : numbers.upstreams)
    upstreams.push_back(to_json(upstream));
  const dispatch::RetryReading& retries = numbers.retries;
  return {{"phase", to_string(numbers.phase)},
          {"rows_done", numbers.rows_done},
          {"rows_total", count_or_null(numbers.rows_total)},
          {"rows_failed", numbers.rows_failed},
          {"failures", kinds_to_json(numbers.failures, kKindsRecorded)},
          {"retrying", json::object{{"rows", retries.waiting},
                                    {"attempt", retries.try_next},
                                    {"attempts_max", retries.tries_max}}},
          {"rows_in_batch", numbers.rows_running},
          {"rows_per_s", numbers.rows_per_s},
          {"texts_per_s", numbers.texts_per_s},
          {"prompt_tokens_per_s", numbers.prompt_tokens_per_s},
          {"prompt_reused", numbers.prompt_reused},
          {"generated_tokens_per_s", numbers.generated_tokens_per_s},
          {"prompts_only", numbers.prompts_only},
          {"texts_only", numbers.texts_only},
          {"one_text_a_row", numbers.one_text_a_row},
          {"device_bytes_used", numbers.device_bytes_used},
          {"device_bytes_max", numbers.device_bytes_max},
          {"elapsed_s", seconds(numbers.elapsed)},
          {"left_s", numbers.left ? json::value(seconds(*numbers.left)) : json::value(nullptr)},
          {"upstreams", std::move(upstreams)}};
}

std::string progress_record_text(const ProgressRecord& record) {
  json::object object = progress_to_json(record.numbers);
  object["version"] = 1;
  object["written_at"] = record.written_unix_s;
  return json::serialize(object) + "\n";
}

std::optional<ProgressRecord> read_progress_record(std::string_view text) {
  boost::system::error_code not_json;
  const json::value parsed = json::parse(text, not_json);
  const json::object* object = not_json ? nullptr : parsed.if_object();
  if (object == nullptr || count_in(*object, "version") != 1) return std::nullopt;
  const std::optional<JobPhase> phase = phase_of(text_in(*object, "phase"));
  if (!phase) return std::nullopt;
  return ProgressRecord{.numbers = numbers_in(*object, *phase),
                        .written_unix_s = count_in(*object, "written_at")};
}

}  // namespace windrow::report
