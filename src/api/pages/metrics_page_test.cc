#include "api/pages/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/storage/storage_calls.h"
namespace windrow::api {
namespace {

using ::testing::HasSubstr;
using Labels = std::map<std::string, std::string>;

// A strict reader of Prometheus' text format 0.0.4, written from its description: every family has
// HELP and TYPE before its samples, which stand together; no sample comes twice; histograms rise
// and end in +Inf.
class Reader {
 public:
  // What is wrong; empty: nothing.
  std::string read(std::string_view page) {
    if (!page.empty() && page.back() != '\n') return "no line end at the end";
    size_t number = 0;
    while (!page.empty()) {
      const size_t end = page.find('\n');
      const std::string_view line = page.substr(0, end);
      page.remove_prefix(end + 1);
      ++number;
      if (!read_line(line))
        return fault_ + " in line " + std::to_string(number) + ": " + std::string(line);
    }
    for (const auto& [name, type] : types_) {
      if (type == "histogram" && !check_histogram(name)) return fault_ + " of " + name;
    }
    return {};
  }

  double value(const std::string& name, const Labels& labels = {}) const {
    const auto found = samples_.find({name, labels});
    EXPECT_NE(found, samples_.end()) << name;
    return found == samples_.end() ? -1 : found->second;
  }
  bool has_family(const std::string& name) const { return types_.contains(name); }
  const std::map<std::pair<std::string, Labels>, double>& samples() const { return samples_; }
  const std::map<std::string, std::string>& types() const { return types_; }

 private:
  bool fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  static bool is_name(std::string_view name, bool of_label) {
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
    for (const char c : name) {
      const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || (c == ':' && !of_label);
      if (!fine) return false;
    }
    return true;
  }

  bool read_line(std::string_view line) {
    if (line.starts_with("# HELP ")) {
      line.remove_prefix(7);
      const std::string name(line.substr(0, line.find(' ')));
      if (!is_name(name, false) || line.size() <= name.size() + 1) return fail("no help");
      if (!helped_.insert(name).second) return fail("HELP twice");
      family_ = name;
      return true;
    }
    if (line.starts_with("# TYPE ")) {
      line.remove_prefix(7);
      const std::string name(line.substr(0, line.find(' ')));
      const std::string type(line.substr(std::min(line.size(), name.size() + 1)));
      if (name != family_) return fail("TYPE of another family than HELP");
      if (type != "counter" && type != "gauge" && type != "histogram") return fail("no type");
      if (type == "counter" && !name.ends_with("_total")) return fail("a counter without _total");
      if (type != "counter" && name.ends_with("_total")) return fail("_total that is no counter");
      if (!types_.emplace(name, type).second) return fail("TYPE twice");
      return true;
    }
    if (line.starts_with('#') || line.empty()) return fail("neither HELP, TYPE nor a sample");
    return read_sample(line);
  }

  bool read_sample(std::string_view line) {
    const size_t end = line.find_first_of("{ ");
    if (end == std::string_view::npos) return fail("no value");
    const std::string name(line.substr(0, end));
    if (!is_name(name, false)) return fail("no name");
    line.remove_prefix(end);
    Labels labels;
    if (line.starts_with('{') && !read_labels(line, labels)) return false;
    if (!line.starts_with(' ')) return fail("no space before the value");
    line.remove_prefix(1);
    double value = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
    if (read.ec != std::errc() || read.ptr != line.data() + line.size()) return fail("no number");

    const auto type = types_.find(family_);
    if (type == types_.end()) return fail("no TYPE before");
    const bool of_family =
        type->second == "histogram"
            ? name == family_ + "_bucket" || name == family_ + "_sum" || name == family_ + "_count"
            : name == family_;
    if (!of_family) return fail("a sample of another family");
    if (name.ends_with("_bucket") != labels.contains("le")) return fail("le");
    if (type->second != "gauge" && !(value >= 0)) return fail("below 0");
    if (!samples_.try_emplace({name, labels}, value).second) return fail("a sample twice");
    return true;
  }

  bool read_labels(std::string_view& line, Labels& labels) {
    do {
      line.remove_prefix(1);
      const size_t sign = line.find("=\"");
      if (sign == std::string_view::npos) return fail("no label");
      const std::string name(line.substr(0, sign));
      if (!is_name(name, true)) return fail("no name of a label");
      line.remove_prefix(sign + 2);
      std::string value;
      while (!line.empty() && line[0] != '"') {
        if (line[0] == '\\') {
          line.remove_prefix(1);
          if (line.empty() || std::string_view("\\n\"").find(line[0]) == std::string_view::npos) {
            return fail("no escape");
          }
          value += line[0] == 'n' ? '\n' : line[0];
        } else {
          value += line[0];
        }
        line.remove_prefix(1);
      }
      if (line.empty()) return fail("a label without its end");
      line.remove_prefix(1);
      if (!labels.emplace(name, value).second) return fail("a label twice");
    } while (line.starts_with(','));
    if (!line.starts_with('}')) return fail("labels without their end");
    line.remove_prefix(1);
    return true;
  }

  bool check_histogram(const std::string& name) {
    std::map<Labels, std::map<double, double>> buckets;
    for (const auto& [key, value] : samples_) {
      if (key.first != name + "_bucket") continue;
      Labels labels = key.second;
      const std::string bound = labels.extract("le").mapped();
      const double at = bound == "+Inf" ? HUGE_VAL : std::stod(bound);
      buckets[labels][at] = value;
    }
    for (const auto& [labels, counts] : buckets) {
      double before = 0;
      for (const auto& [bound, count] : counts) {
        if (count < before) return fail("counts that fall");
        before = count;
      }
      if (!counts.contains(HUGE_VAL)) return fail("no +Inf");
      const auto count = samples_.find({name + "_count", labels});
      if (count == samples_.end() || count->second != before) return fail("another _count");
      if (!samples_.contains({name + "_sum", labels})) return fail("no _sum");
    }
    return true;
  }

  std::string family_;
  std::string fault_;
  std::set<std::string> helped_;
  std::map<std::string, std::string> types_;
  std::map<std::pair<std::string, Labels>, double> samples_;
};

Reader reader_of(const std::string& page) {
  Reader reader;
  EXPECT_EQ(reader.read(page), "");
  return reader;
}

TEST(MetricsPage, OfANewServerIsSound) {
  const ServeMetrics metrics;
  const Reader page = reader_of(metrics_page(metrics.read(), {.version = "0.1"}));
  EXPECT_EQ(page.value("windrow_build_info", {{"version", "0.1"}}), 1);
  EXPECT_EQ(page.value("windrow_ready"), 0);
  EXPECT_TRUE(page.has_family("windrow_steps_total")) << "also where there is nothing yet";
  EXPECT_EQ(page.value("windrow_inter_token_seconds_count", {{"class", "normal"}}), 0);
}

TEST(MetricsPage, CountsBatchesAndFiles) {
  batches::BatchReadings batches{.rows_completed = 7, .rows_failed = 2};
  batches.by_status.at(static_cast<size_t>(batches::BatchStatus::kInProgress)) = 3;
  const StorageReading storage{.batches = batches, .files = {.files = 4, .bytes = 5'000'000'000}};
  const Reader page = reader_of(metrics_page(
      ServeMetrics().read(), {}, [&](MetricsWriter& text) { add_storage_metrics(storage, text); }));
  EXPECT_EQ(page.value("windrow_batches", {{"status", "in_progress"}}), 3);
  EXPECT_EQ(page.value("windrow_batches", {{"status", "completed"}}), 0);
  EXPECT_EQ(page.value("windrow_batch_rows_total", {{"result", "completed"}}), 7);
  EXPECT_EQ(page.value("windrow_batch_rows_total", {{"result", "failed"}}), 2);
  EXPECT_EQ(page.value("windrow_files"), 4);
  EXPECT_EQ(page.value("windrow_files_bytes"), 5'000'000'000);
}

TEST(MetricsPage, SaysWhatWasCounted) {
  ServeMetrics metrics;
  RequestRecord record;
  record.endpoint = llm::Endpoint::kEmbeddings;
  record.model = "an \"odd\" \\ name\nwith \xFF";
  record.status = 503;
  record.code = "server_loading";
  record.usage = {.prompt_tokens = 7, .completion_tokens = 2, .cached_tokens = 3};
  record.queue = std::chrono::milliseconds(3);
  metrics.ended(record, std::chrono::milliseconds(40));
  metrics.steps("m")({.reason = llm::StepReason::kWork,
                      .rows_decoding = 3,
                      .tokens = 12,
                      .preempted = 1,
                      .duration = std::chrono::milliseconds(9),
                      .sampling = std::chrono::milliseconds(2),
                      .mask_wait = std::chrono::milliseconds(1)});
  ModelReading model{.name = "m"};
  model.stats.cells_used = 100;
  model.stats.cells_cached = 30;
  model.stats.cells_held = 20;
  model.stats.cells_max = 4096;
  model.stats.rows_running = 5;
  model.queue.waiting = {1, 2, 3};
  model.queue.oldest_age = {Duration{}, std::chrono::milliseconds(250), Duration{}};
  model.residence = {.state = llm::LoadState::kLoaded,
                     .memory_bytes = 5'000'000'000,
                     .waiting = 4,
                     .loads = 3,
                     .loads_failed = 1,
                     .unloads = 2,
                     .load_seconds = 7.5};
  model.dispatch.retries = 4;
  model.dispatch.coalesced = 6;
  model.upstreams = {{.name = "http://gpu1:8000",
                      .healthy = true,
                      .answers = 9,
                      .failures_by_kind = {{"unreached", 2}, {"timeout", 0}},
                      .latency_s = 0.5,
                      .in_flight = 4,
                      .in_flight_max = 16},
                     {.name = "http://gpu2:8000"}};
  const KeyReading alice_reading{.name = "alice",
                                 .calls_live = 2,
                                 .usage = {.calls_answered = 1,
                                           .calls_limited = 2,
                                           .calls_left = 3,
                                           .calls_failed = 4,
                                           .rows_answered = 5,
                                           .rows_failed = 6,
                                           .prompt_tokens = 7,
                                           .cached_tokens = 8,
                                           .completion_tokens = 9},
                                 .waiting = 11,
                                 .running = 12};
  const Reader page = reader_of(metrics_page(metrics.read(), {.version = "1",
                                                              .state = ServeState::kReady,
                                                              .connections = 8,
                                                              .requests_arriving = 2,
                                                              .calls_live = 3,
                                                              .keys = {alice_reading},
                                                              .bytes_inside = 1'000,
                                                              .bytes_inside_max = 1'000'000'000'000,
                                                              .responses_kept = 8,
                                                              .responses_kept_bytes = 3'000'000'000,
                                                              .models = {model}}));
  const std::string odd = "an \"odd\" \\ name\nwith \xEF\xBF\xBD";
  EXPECT_EQ(page.value("windrow_requests_total",
                       {{"endpoint", "/v1/embeddings"}, {"model", odd}, {"status", "503"}}),
            1);
  EXPECT_EQ(page.value("windrow_errors_total", {{"code", "server_loading"}}), 1);
  EXPECT_EQ(page.value("windrow_model_loaded", {{"model", "m"}}), 1);
  EXPECT_EQ(page.value("windrow_model_memory_bytes", {{"model", "m"}}), 5e9);
  EXPECT_EQ(page.value("windrow_model_requests_waiting", {{"model", "m"}}), 4);
  EXPECT_EQ(page.value("windrow_model_loads_total", {{"model", "m"}}), 3);
  EXPECT_EQ(page.value("windrow_model_load_failures_total", {{"model", "m"}}), 1);
  EXPECT_EQ(page.value("windrow_model_unloads_total", {{"model", "m"}}), 2);
  EXPECT_EQ(page.value("windrow_model_load_seconds_total", {{"model", "m"}}), 7.5);
  EXPECT_EQ(page.value("windrow_prompt_tokens_total", {{"model", odd}}), 7);
  EXPECT_EQ(page.value("windrow_cached_prompt_tokens_total", {{"model", odd}}), 3);
  EXPECT_EQ(page.value("windrow_request_queue_seconds_count", {{"class", "normal"}}), 1);
  EXPECT_EQ(
      page.value("windrow_request_duration_seconds_bucket", {{"class", "normal"}, {"le", "0.05"}}),
      1);
  EXPECT_EQ(
      page.value("windrow_request_duration_seconds_bucket", {{"class", "normal"}, {"le", "0.025"}}),
      0);
  EXPECT_EQ(page.value("windrow_request_duration_seconds_sum", {{"class", "normal"}}), 0.04);
  const Labels kind{{"model", "m"}, {"kind", "generate"}};
  EXPECT_EQ(
      page.value("windrow_steps_total", {{"model", "m"}, {"kind", "generate"}, {"reason", "work"}}),
      1);
  EXPECT_EQ(page.value("windrow_step_tokens_sum", kind), 12);
  EXPECT_EQ(page.value("windrow_sampling_seconds_total", kind), 0.002);
  EXPECT_EQ(page.value("windrow_mask_wait_seconds_total", kind), 0.001);
  EXPECT_EQ(page.value("windrow_preempted_rows_total", kind), 1);
  EXPECT_EQ(page.value("windrow_kv_cells", {{"model", "m"}, {"state", "needed"}}), 70);
  EXPECT_EQ(page.value("windrow_kv_cells", {{"model", "m"}, {"state", "resting"}}), 30);
  EXPECT_EQ(page.value("windrow_kv_cells_held", {{"model", "m"}}), 20);
  EXPECT_EQ(page.value("windrow_kv_cells_max", {{"model", "m"}}), 4096);
  EXPECT_EQ(page.value("windrow_queue_waiting", {{"model", "m"}, {"class", "batch"}}), 3);
  EXPECT_EQ(page.value("windrow_queue_oldest_seconds", {{"model", "m"}, {"class", "normal"}}),
            0.25);
  EXPECT_EQ(page.value("windrow_dispatch_retries_total", {{"model", "m"}}), 4);
  EXPECT_EQ(page.value("windrow_dispatch_coalesced_total", {{"model", "m"}}), 6);
  const Labels gpu1{{"upstream", "http://gpu1:8000"}};
  EXPECT_EQ(page.value("windrow_upstream_healthy", gpu1), 1);
  EXPECT_EQ(page.value("windrow_upstream_healthy", {{"upstream", "http://gpu2:8000"}}), 0);
  EXPECT_EQ(page.value("windrow_upstream_in_flight", gpu1), 4);
  EXPECT_EQ(page.value("windrow_upstream_in_flight_max", gpu1), 16);
  EXPECT_EQ(page.value("windrow_upstream_answers_total", gpu1), 9);
  EXPECT_EQ(page.value("windrow_upstream_latency_seconds", gpu1), 0.5);
  EXPECT_EQ(page.value("windrow_upstream_failures_total",
                       {{"upstream", "http://gpu1:8000"}, {"kind", "unreached"}}),
            2);
  EXPECT_EQ(page.value("windrow_upstream_failures_total",
                       {{"upstream", "http://gpu1:8000"}, {"kind", "timeout"}}),
            0);
  EXPECT_EQ(page.value("windrow_ready"), 1);
  EXPECT_EQ(page.value("windrow_body_bytes_inside_max"), 1e12);
  EXPECT_EQ(page.value("windrow_responses_kept"), 8);
  EXPECT_EQ(page.value("windrow_responses_kept_bytes"), 3e9);
  EXPECT_EQ(page.value("windrow_calls_live"), 3);
  const Labels alice{{"key", "alice"}};
  EXPECT_EQ(page.value("windrow_key_calls_live", alice), 2);
  EXPECT_EQ(page.value("windrow_key_requests", {{"key", "alice"}, {"state", "waiting"}}), 11);
  EXPECT_EQ(page.value("windrow_key_requests", {{"key", "alice"}, {"state", "running"}}), 12);
  const auto calls = [&](const char* outcome) {
    return page.value("windrow_key_calls_total", {{"key", "alice"}, {"outcome", outcome}});
  };
  EXPECT_EQ(calls("answered"), 1);
  EXPECT_EQ(calls("limited"), 2);
  EXPECT_EQ(calls("left"), 3);
  EXPECT_EQ(calls("failed"), 4);
  EXPECT_EQ(page.value("windrow_key_batch_rows_total", {{"key", "alice"}, {"outcome", "answered"}}),
            5);
  EXPECT_EQ(page.value("windrow_key_batch_rows_total", {{"key", "alice"}, {"outcome", "failed"}}),
            6);
  EXPECT_EQ(page.value("windrow_key_prompt_tokens_total", alice), 7);
  EXPECT_EQ(page.value("windrow_key_cached_prompt_tokens_total", alice), 8);
  EXPECT_EQ(page.value("windrow_key_completion_tokens_total", alice), 9);
}

TEST(MetricsPage, CountersNeverFall) {
  ServeMetrics metrics;
  const llm::StepObserver steps = metrics.steps("m");
  std::map<std::pair<std::string, Labels>, double> before;
  for (int i = 0; i < 20; ++i) {
    RequestRecord record;
    if (i % 3 != 0) record.endpoint = llm::Endpoint::kChatCompletions;
    record.status = i % 4 == 0 ? 499 : 200;
    record.code = i % 5 == 0 ? "x" : "";
    metrics.ended(record, Duration(i * 1'000'000));
    metrics.token_gap(dispatch::Priority::kBatch, -Duration(i));
    steps({.tokens = i});
    const Reader page = reader_of(metrics_page(metrics.read(), {}));
    for (const auto& [key, value] : before) {
      const std::string& name = key.first;
      const auto type = page.types().find(name);
      if (type != page.types().end() && type->second == "gauge") continue;
      EXPECT_GE(page.value(name, key.second), value) << name;
    }
    before = page.samples();
  }
}

TEST(MetricsPage, ItsReaderSeesMistakes) {
  const auto fault = [](const std::string& page) { return Reader().read(page); };
  const std::string head = "# HELP a_total x\n# TYPE a_total counter\n";
  EXPECT_EQ(fault(head + "a_total 1\n"), "");
  EXPECT_THAT(fault(head + "a_total 1\na_total 2\n"), HasSubstr("twice"));
  EXPECT_THAT(fault(head + "a_total -1\n"), HasSubstr("below 0"));
  EXPECT_THAT(fault(head + "b 1\n"), HasSubstr("another family"));
  EXPECT_THAT(fault(head + "a_total{x=\"\\y\"} 1\n"), HasSubstr("escape"));
  EXPECT_THAT(fault(head + "a_total{x=\"y} 1\n"), HasSubstr("without its end"));
  EXPECT_THAT(fault("a_total 1\n"), HasSubstr("TYPE"));
  EXPECT_THAT(fault("# HELP a x\n# TYPE a counter\na 1\n"), HasSubstr("_total"));
  EXPECT_THAT(
      fault("# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\n"
            "h_sum 1\nh_count 1\n"),
      HasSubstr("fall"));
}

}  // namespace
}  // namespace windrow::api
