#include "api/pages/metrics_page.h"

#include <fmt/format.h>

#include <array>

#include "api/calls/envelope.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

constexpr std::array<std::string_view, 3> kStepKindNames = {"generate", "embed", "rank"};
constexpr std::array<std::string_view, 6> kStepReasonNames = {"work",   "idle",   "full",
                                                              "linger", "window", "behind"};

void add_server(const PageReadings& now, MetricsWriter& page) {
  page.family("windrow_build_info", "gauge", "The version, as a label; always 1.");
  page.sample({{"version", now.version}}, int64_t{1});
  page.family("windrow_ready", "gauge",
              "1 while requests are accepted: models are loaded, the server is not stopping.");
  page.sample({}, int64_t{now.state == ServeState::kReady});
  page.family("windrow_http_connections", "gauge", "Open connections.");
  page.sample({}, now.connections);
  page.family("windrow_http_requests_arriving", "gauge", "Requests that are not complete yet.");
  page.sample({}, now.requests_arriving);
  page.family("windrow_calls_live", "gauge", "Calls of a model in progress.");
  page.sample({}, now.calls_live);
  page.family("windrow_key_calls_live", "gauge", "Calls of a model in progress, by key.");
  for (const KeyReading& key : now.keys)
    page.sample({{"key", key.name}}, key.calls_live);
  page.family("windrow_body_bytes_inside", "gauge",
              "Memory of request bodies in progress, parsed values included.");
  page.sample({}, now.bytes_inside);
  page.family("windrow_body_bytes_inside_max", "gauge",
              "Limit of that memory; above it requests get 429.");
  page.sample({}, now.bytes_inside_max);
  page.family("windrow_answer_bytes", "gauge",
              "Memory of answers until they are handed to their connections.");
  page.sample({}, now.answer_bytes);
  page.family("windrow_answer_bytes_max", "gauge",
              "Limit of that memory; above it an answer fails with 503.");
  page.sample({}, now.answer_bytes_max);
  page.family("windrow_answers_without_room_total", "counter",
              "Answers that failed because of that limit.");
  page.sample({}, now.answers_without_room);
  page.family("windrow_http_unsent_bytes", "gauge",
              "Bytes of answers that clients have not read yet.");
  page.sample({}, now.unsent_bytes);
  page.family("windrow_http_slow_readers_dropped_total", "counter",
              "Clients disconnected because they read nothing while others needed the memory.");
  page.sample({}, now.slow_readers_dropped);
  page.family("windrow_responses_kept", "gauge", "Stored responses of /v1/responses.");
  page.sample({}, now.responses_kept);
  page.family("windrow_responses_kept_bytes", "gauge",
              "Memory of stored responses, bounded by --keep-items-mb.");
  page.sample({}, now.responses_kept_bytes);
}

void add_keys(const std::vector<KeyReading>& keys, MetricsWriter& page) {
  page.family("windrow_key_requests", "gauge",
              "Calls and rows of batches that are queued or running, by key.");
  for (const KeyReading& key : keys) {
    page.sample({{"key", key.name}, {"state", "waiting"}}, key.waiting);
    page.sample({{"key", key.name}, {"state", "running"}}, key.running);
  }
  page.family("windrow_key_calls_total", "counter",
              "Calls that ended, by key: answered, limited (429), left by the client, failed.");
  for (const KeyReading& key : keys) {
    page.sample({{"key", key.name}, {"outcome", "answered"}}, key.usage.calls_answered);
    page.sample({{"key", key.name}, {"outcome", "limited"}}, key.usage.calls_limited);
    page.sample({{"key", key.name}, {"outcome", "left"}}, key.usage.calls_left);
    page.sample({{"key", key.name}, {"outcome", "failed"}}, key.usage.calls_failed);
  }
  page.family("windrow_key_batch_rows_total", "counter", "Rows of batches that ended, by key.");
  for (const KeyReading& key : keys) {
    page.sample({{"key", key.name}, {"outcome", "answered"}}, key.usage.rows_answered);
    page.sample({{"key", key.name}, {"outcome", "failed"}}, key.usage.rows_failed);
  }
  const auto total = [&](std::string_view name, std::string_view help, int64_t KeyUsage::* tokens) {
    page.family(name, "counter", help);
    for (const KeyReading& key : keys)
      page.sample({{"key", key.name}}, key.usage.*tokens);
  };
  total("windrow_key_prompt_tokens_total", "Prompt tokens of calls and rows, by key.",
        &KeyUsage::prompt_tokens);
  total("windrow_key_cached_prompt_tokens_total",
        "Prompt tokens served from the prefix cache, by key.", &KeyUsage::cached_tokens);
  total("windrow_key_completion_tokens_total", "Completion tokens of calls and rows, by key.",
        &KeyUsage::completion_tokens);
}

void add_calls(const ServeMetrics::Reading& counters, MetricsWriter& page) {
  page.family("windrow_requests_total", "counter", "Calls of a model that ended, by status.");
  for (const auto& series : counters.calls) {
    page.sample({{"endpoint", url_of(series.endpoint, series.dialect)},
                 {"model", series.model},
                 {"status", fmt::format("{}", series.status)}},
                series.count);
  }
  page.family("windrow_other_requests_total", "counter",
              "Requests other than calls of a model, or rejected before they became one.");
  page.sample({}, counters.others);
  page.family("windrow_errors_total", "counter", "Requests that were answered with an error.");
  for (const auto& [code, count] : counters.errors)
    page.sample({{"code", code}}, count);
  page.family("windrow_clients_left_total", "counter",
              "Requests whose client disconnected before the answer was complete.");
  page.sample({}, counters.clients_left);

  page.family("windrow_prompt_tokens_total", "counter", "Prompt tokens of calls that ended.");
  for (const auto& series : counters.tokens)
    page.sample({{"model", series.model}}, series.prompt);
  page.family("windrow_cached_prompt_tokens_total", "counter",
              "Prompt tokens served from the prefix cache.");
  for (const auto& series : counters.tokens)
    page.sample({{"model", series.model}}, series.cached);
  page.family("windrow_completion_tokens_total", "counter",
              "Completion tokens of calls that ended.");
  for (const auto& series : counters.tokens)
    page.sample({{"model", series.model}}, series.generated);

  const auto by_class = [&](std::string_view name, std::string_view help, const auto& histograms) {
    page.family(name, "histogram", help);
    for (size_t i = 0; i < kPriorities; ++i)
      page.histogram({{"class", kPriorityNames.at(i)}}, histograms.at(i));
  };
  by_class("windrow_request_duration_seconds", "From a call's arrival to the end of its answer.",
           counters.duration_s);
  by_class("windrow_request_queue_seconds", "From a call's arrival to its first forward pass.",
           counters.queue_s);
  by_class("windrow_time_to_first_token_seconds", "From a call's arrival to its first token.",
           counters.ttft_s);
  by_class("windrow_inter_token_seconds", "Time between two tokens of a stream.",
           counters.token_gap_s);
}

void add_steps(const std::vector<ServeMetrics::StepSeries>& steps, MetricsWriter& page) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto add) {
    page.family(name, type, help);
    for (const ServeMetrics::StepSeries& series : steps)
      add(series, kStepKindNames.at(static_cast<size_t>(series.kind)));
  };
  using Series = ServeMetrics::StepSeries;
  each("windrow_steps_total", "counter", "Forward passes, by the reason why each began.",
       [&](const Series& series, std::string_view kind) {
         for (size_t i = 0; i < series.steps.size(); ++i) {
           if (series.steps.at(i) == 0) continue;
           page.sample(
               {{"model", series.model}, {"kind", kind}, {"reason", kStepReasonNames.at(i)}},
               series.steps.at(i));
         }
       });
  const auto histogram = [&](std::string_view name, std::string_view help,
                             Histogram::Reading Series::* reading) {
    each(name, "histogram", help, [&](const Series& series, std::string_view kind) {
      page.histogram({{"model", series.model}, {"kind", kind}}, series.*reading);
    });
  };
  histogram("windrow_step_rows", "Rows or inputs of a forward pass.", &Series::rows);
  histogram("windrow_step_tokens", "Tokens computed by a forward pass.", &Series::tokens);
  histogram("windrow_step_duration_seconds", "Duration of a forward pass, without sampling.",
            &Series::duration_s);
  const auto total = [&](std::string_view name, std::string_view help, auto Series::* value) {
    each(name, "counter", help, [&](const Series& series, std::string_view kind) {
      page.sample({{"model", series.model}, {"kind", kind}}, series.*value);
    });
  };
  total("windrow_sampling_seconds_total",
        "Time between forward passes for sampling, waiting for masks included.",
        &Series::sampling_s);
  total("windrow_mask_wait_seconds_total",
        "Part of that time in which rows with a structure waited for their masks.",
        &Series::mask_wait_s);
  total("windrow_preempted_rows_total", "Rows that were preempted and computed again.",
        &Series::preempted);
}

void add_models(const std::vector<ModelReading>& models, MetricsWriter& page) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    page.family(name, type, help);
    for (const ModelReading& model : models)
      page.sample({{"model", model.name}}, int64_t{value(model)});
  };
  const auto by_class = [&](std::string_view name, std::string_view help, auto value) {
    page.family(name, "gauge", help);
    for (const ModelReading& model : models) {
      for (size_t i = 0; i < kPriorities; ++i)
        page.sample({{"model", model.name}, {"class", kPriorityNames.at(i)}}, value(model, i));
    }
  };
  by_class("windrow_queue_waiting", "Requests in the queue of the dispatcher.",
           [](const ModelReading& model, size_t i) { return int64_t{model.queue.waiting.at(i)}; });
  by_class(
      "windrow_queue_oldest_seconds", "Age of the oldest request in the queue.",
      [](const ModelReading& model, size_t i) { return seconds(model.queue.oldest_age.at(i)); });

  using Model = const ModelReading&;
  each("windrow_rows_running", "gauge", "Rows in the batch.",
       [](Model model) { return model.stats.rows_running; });
  each("windrow_rows_waiting", "gauge", "Rows that wait to join the batch.",
       [](Model model) { return model.stats.rows_waiting; });
  page.family("windrow_kv_cells", "gauge",
              "Cells of the KV cache: used by running rows, or cached for reuse.");
  for (const ModelReading& model : models) {
    const llm::BackendStats& stats = model.stats;
    page.sample({{"model", model.name}, {"state", "needed"}},
                int64_t{stats.cells_used} - stats.cells_cached);
    page.sample({{"model", model.name}, {"state", "resting"}}, int64_t{stats.cells_cached});
  }
  each("windrow_kv_cells_held", "gauge",
       "Cached cells of prefixes that are held: they are evicted last.",
       [](Model model) { return model.stats.cells_held; });
  each("windrow_kv_cells_max", "gauge", "Size of the KV cache in cells.",
       [](Model model) { return model.stats.cells_max; });
  each("windrow_device_bytes_used", "gauge", "Used memory of the device; 0 if unknown.",
       [](Model model) { return static_cast<int64_t>(model.stats.device_bytes_used); });
  each("windrow_device_bytes_max", "gauge", "Total memory of the device.",
       [](Model model) { return static_cast<int64_t>(model.stats.device_bytes_max); });

  each("windrow_engine_prompt_tokens_total", "counter", "Prompt tokens that were computed.",
       [](Model model) { return model.stats.prompt_tokens; });
  each("windrow_engine_cached_tokens_total", "counter",
       "Prompt tokens served from the prefix cache.",
       [](Model model) { return model.stats.cached_tokens; });
  each("windrow_engine_generated_tokens_total", "counter",
       "Generated tokens, by sampling or jump-forward.",
       [](Model model) { return model.stats.generated_tokens; });
  each("windrow_engine_forced_tokens_total", "counter",
       "Generated tokens that a structure left no choice about.",
       [](Model model) { return model.stats.forced_tokens; });
  each("windrow_engine_recomputed_tokens_total", "counter",
       "Tokens computed again after preemption.",
       [](Model model) { return model.stats.recomputed_tokens; });

  each("windrow_dispatch_calls_total", "counter", "Calls sent to backends, retries included.",
       [](Model model) { return model.dispatch.calls; });
  each("windrow_dispatch_coalesced_total", "counter",
       "Requests answered with the call of an equal request.",
       [](Model model) { return model.dispatch.coalesced; });
  each("windrow_dispatch_cached_total", "counter", "Requests answered from the answer cache.",
       [](Model model) { return model.dispatch.cached; });
  each("windrow_dispatch_retries_total", "counter", "Retries of requests.",
       [](Model model) { return model.dispatch.retries; });
}

void add_residences(const std::vector<ModelReading>& models, MetricsWriter& page) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    page.family(name, type, help);
    for (const ModelReading& model : models) {
      if (model.residence) page.sample({{"model", model.name}}, value(*model.residence));
    }
  };
  using Reading = const llm::ModelStatus&;
  each("windrow_model_loaded", "gauge", "1 while the model is in memory.",
       [](Reading reading) { return int64_t{reading.state == llm::LoadState::kLoaded}; });
  each("windrow_model_memory_bytes", "gauge",
       "Memory of the model; an estimate while it is not loaded.",
       [](Reading reading) { return static_cast<int64_t>(reading.memory_bytes); });
  each("windrow_model_requests_waiting", "gauge", "Requests that wait for the model to be loaded.",
       [](Reading reading) { return int64_t{reading.waiting}; });
  each("windrow_model_loads_total", "counter", "Completed loads of the model.",
       [](Reading reading) { return reading.loads; });
  each("windrow_model_load_failures_total", "counter", "Failed loads of the model.",
       [](Reading reading) { return reading.loads_failed; });
  each("windrow_model_unloads_total", "counter", "Unloads of the model.",
       [](Reading reading) { return reading.unloads; });
  each("windrow_model_load_seconds_total", "counter", "Total time of all loads of the model.",
       [](Reading reading) { return reading.load_seconds; });
}

void add_upstreams(const std::vector<ModelReading>& models, MetricsWriter& page) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    page.family(name, type, help);
    for (const ModelReading& model : models) {
      for (const llm::UpstreamStatus& upstream : model.upstreams)
        page.sample({{"upstream", upstream.name}}, value(upstream));
    }
  };
  using Upstream = const llm::UpstreamStatus&;
  each("windrow_upstream_healthy", "gauge", "1 while this upstream gets requests.",
       [](Upstream upstream) { return int64_t{upstream.healthy}; });
  each("windrow_upstream_in_flight", "gauge", "Calls in flight to this upstream.",
       [](Upstream upstream) { return int64_t{upstream.in_flight}; });
  each("windrow_upstream_in_flight_max", "gauge",
       "In-flight window of this upstream, measured or from --concurrency.",
       [](Upstream upstream) { return int64_t{upstream.in_flight_max}; });
  each("windrow_upstream_latency_seconds", "gauge", "Moving average of the time that answers take.",
       [](Upstream upstream) { return upstream.latency_s; });
  each("windrow_upstream_answers_total", "counter", "Calls that this upstream answered.",
       [](Upstream upstream) { return upstream.answers; });
  page.family("windrow_upstream_failures_total", "counter",
              "Calls to this upstream that failed: unreached, files, overloaded, timeout, broken, "
              "request.");
  for (const ModelReading& model : models) {
    for (const llm::UpstreamStatus& upstream : model.upstreams) {
      for (const auto& [kind, count] : upstream.failures_by_kind)
        page.sample({{"upstream", upstream.name}, {"kind", kind}}, count);
    }
  }
}

}  // namespace

std::string metrics_page(const ServeMetrics::Reading& counters, const PageReadings& readings,
                         const std::function<void(MetricsWriter&)>& add_others) {
  MetricsWriter page;
  add_server(readings, page);
  add_keys(readings.keys, page);
  add_calls(counters, page);
  add_steps(counters.steps, page);
  add_models(readings.models, page);
  add_residences(readings.models, page);
  add_upstreams(readings.models, page);
  if (add_others) add_others(page);
  add_process_metrics(readings.process, page);
  return page.finish();
}

}  // namespace windrow::api
