#include "api/memory/memory_calls.h"

#include <embedded/memory_openapi.json.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "api/memory/memory_requests.h"
#include "api/memory/object_reader.h"
#include "api/wire/refusals.h"
#include "base/text_encoding.h"
#include "base/utf8.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr int32_t kDiskThreads = 2;
constexpr int64_t kDiskRequestsMax = 1024;
constexpr int64_t kAgainMs = 2000;
constexpr size_t kLongBody = size_t{1} << 20;
constexpr std::string_view kBankPath = "/v1/default/banks/{bank_id}";
constexpr std::string_view kApiVersion = "0.9.1";  // of Hindsight, whose API this is

llm::Failure no_banks() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 501,
          .code = "no_data_dir",
          .message =
              "this server keeps no memory banks; the operator must start it with "
              "--data-dir FOLDER"};
}

llm::Failure memory_busy(int64_t most) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 503,
          .code = "memory_busy",
          .message = fmt::format("{} requests for memory banks are in progress or wait, which is "
                                 "this server's limit; try again in a few seconds",
                                 most),
          .retry_after_ms = kAgainMs};
}

llm::Failure bodies_full(size_t most) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 503,
          .code = "memory_busy",
          .message = fmt::format("the bodies of the requests for memory banks that are in progress "
                                 "or wait would have more than {} MiB, which is this server's "
                                 "limit; try again in a few seconds",
                                 most >> 20U),
          .retry_after_ms = kAgainMs};
}

// One request less, and its body, when it has ended, whichever way. The body's memory was taken.
class Inside {
 public:
  Inside(std::atomic<int64_t>& count, BodyMemoryBudget& bodies, size_t body_bytes)
      : count_(count), with_this_(++count), bodies_(bodies), body_bytes_(body_bytes) {}
  ~Inside() {
    bodies_.release(body_bytes_);
    --count_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  int64_t with_this() const { return with_this_; }

 private:
  std::atomic<int64_t>& count_;
  const int64_t with_this_;
  BodyMemoryBudget& bodies_;
  const size_t body_bytes_;
};

// As PartRequest::answer, but failures are written as Hindsight's.
void answer_in_its_shape(PartRequest& request, PartAnswer answer) {
  if (const auto* failure = std::get_if<llm::Failure>(&answer)) {
    request.context.record().code = failure->code;
    answer = memory_error(*failure);
  }
  request.answer(std::move(answer));
}

// What the OpenAPI document says of a route that is not there.
json::object absent_operation(const MemoryRoute& route) {
  json::array parameters;
  std::string_view path = route.path;
  for (size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{')) {
    const size_t end = path.find('}', at);
    parameters.push_back({{"name", path.substr(at + 1, end - at - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
    path.remove_prefix(end);
  }
  return {{"summary", "Not there: answered 501."},
          {"description", route.instead},
          {"parameters", std::move(parameters)},
          {"responses",
           {{"401", {{"$ref", "#/components/responses/Error401"}}},
            {"501", {{"$ref", "#/components/responses/MemoryError"}}}}}};
}

std::string_view lower_method(std::string_view method) {
  if (method == "GET") return "get";
  if (method == "POST") return "post";
  if (method == "PUT") return "put";
  return method == "PATCH" ? "patch" : "delete";
}

}  // namespace

void add_memory_metrics(const MemoryReading& memory, MetricsWriter& page) {
  const memory::RunnerReadings& runner = memory.runner;
  page.family("windrow_memory_requests", "gauge",
              "Requests for memory banks in progress, by what they wait for.");
  page.sample({{"waits_for", "disk"}}, memory.requests_on_disk);
  page.sample({{"waits_for", "models"}}, memory.requests_on_models);
  page.family("windrow_memory_operations_running", "gauge",
              "Operations of memory banks that are worked at.");
  page.sample({}, static_cast<int64_t>(runner.running));
  page.family("windrow_memory_operations_total", "counter",
              "Operations of memory banks that ended, by how.");
  page.sample({{"result", "completed"}}, runner.operations_completed);
  page.sample({{"result", "failed"}}, runner.operations_failed);
  page.family("windrow_memory_operations_taken_over_total", "counter",
              "Operations of memory banks that another process had begun.");
  page.sample({}, runner.operations_taken_over);
  page.family("windrow_memory_facts_total", "counter",
              "Facts that a consolidation is done with, by how it ended.");
  page.sample({{"result", "consolidated"}}, runner.facts_consolidated);
  page.sample({{"result", "failed"}}, runner.facts_failed);
  page.family("windrow_memory_observations_total", "counter",
              "Changes of observations by consolidations.");
  page.sample({{"change", "created"}}, runner.observations_created);
  page.sample({{"change", "updated"}}, runner.observations_updated);
  page.sample({{"change", "deleted"}}, runner.observations_deleted);
  page.family("windrow_memory_llm_calls_total", "counter",
              "Calls of the chat model by consolidations.");
  page.sample({}, runner.llm_calls);
}

MemoryCalls::MemoryCalls(const PartHost& host, memory::MemoryService* service, MemoryLimits limits)
    : host_(host),
      service_(service),
      started_(service == nullptr ? TimePoint{} : service->clock().now()),
      disk_(kDiskThreads, kDiskRequestsMax),
      models_(limits.model_threads, int64_t{limits.model_threads} + limits.waiting_max),
      bodies_(limits.body_bytes_max) {}

MemoryCalls::~MemoryCalls() = default;

PartFactory memory_part(memory::MemoryService* service, MemoryLimits limits) {
  return [service, limits](const PartHost& host) {
    return std::make_unique<MemoryCalls>(host, service, limits);
  };
}

void MemoryCalls::stop() {
  disk_.executor.stop();
  models_.executor.stop();
}

void MemoryCalls::add_routes(const Add& add) {
  for (const MemoryRoute& route : memory_routes()) {
    add(route.method, route.path,
        [this, &route](const http::ServerRequest& request, http::Exchange exchange) {
          take(route, request, std::move(exchange));
        });
  }
  const auto page = [&](std::string_view path, Page shown) {
    add("GET", path, [this, shown](const http::ServerRequest& request, http::Exchange exchange) {
      show(shown, request, std::move(exchange));
    });
  };
  page("/version", &MemoryCalls::version);
  page("/health/live", &MemoryCalls::liveness);
  page("/health/ready", &MemoryCalls::readiness);
}

void MemoryCalls::metrics(MetricsWriter& page) const {
  MemoryReading reading{.requests_on_disk = disk_.inside, .requests_on_models = models_.inside};
  if (service_ != nullptr) reading.runner = service_->readings();
  add_memory_metrics(reading, page);
}

json::object MemoryCalls::openapi() const {
  json::object section = json::parse(embedded::kMemoryOpenapiJson).as_object();
  json::object& paths = section.at("paths").as_object();
  for (const MemoryRoute& route : memory_routes()) {
    if (route.endpoint != nullptr) continue;
    json::value& path = paths.emplace(route.path, json::object()).first->value();
    path.as_object().emplace(lower_method(route.method), absent_operation(route));
  }
  return section;
}

void MemoryCalls::take(const MemoryRoute& route, const http::ServerRequest& request,
                       http::Exchange exchange) {
  const bool asks_models = route.wait == MemoryWait::kModels;
  std::optional<PartRequest> admitted =
      host_.admit(request, std::move(exchange), asks_models ? Access::kCall : Access::kKey);
  if (!admitted) return;
  if (service_ == nullptr) return answer_in_its_shape(*admitted, no_banks());
  if (route.endpoint == nullptr) return answer_in_its_shape(*admitted, not_there(route.instead));

  auto accepted = std::make_shared<MemoryRequest>(*std::move(admitted), *service_, request.query);
  for (const std::string_view part : request.parts) {
    std::string decoded = percent_decoded(part);
    if (!code_points(decoded))
      return answer_in_its_shape(*accepted, unprocessable("path", "the path must be UTF-8"));
    accepted->parts.push_back(std::move(decoded));
  }
  if (route.path.starts_with(kBankPath)) {
    auto bank = read_bank_id(accepted->parts.front());
    if (const auto* failure = failure_of_reply(bank))
      return answer_in_its_shape(*accepted, *failure);
    accepted->bank = std::get<memory::BankId>(std::move(bank));
  }
  accepted->body = std::move(request.body);

  Workers& workers = asks_models ? models_ : disk_;
  const size_t body_bytes = accepted->body.size();
  if (!bodies_.take(body_bytes))
    return answer_in_its_shape(*accepted, bodies_full(bodies_.bytes_max()));
  auto inside = std::make_shared<Inside>(workers.inside, bodies_, body_bytes);
  if (inside->with_this() > workers.inside_max)
    return answer_in_its_shape(*accepted, memory_busy(workers.inside_max));
  const auto length = !asks_models && accepted->body.size() > kLongBody
                          ? async::Executor::Length::kLong
                          : async::Executor::Length::kShort;
  workers.executor.post(
      [accepted = std::move(accepted), inside = std::move(inside), work = route.endpoint] {
        // A request that the server has no memory for fails alone.
        try {
          answer_in_its_shape(*accepted, work(*accepted));
        } catch (const std::bad_alloc&) {
          answer_in_its_shape(*accepted, no_memory("for this"));
        }
      },
      length);
}

// --- pages --------------------------------------------------------------------------------------

void MemoryCalls::show(Page page, const http::ServerRequest& request, http::Exchange exchange) {
  std::optional<PartRequest> admitted = host_.admit(request, std::move(exchange), Access::kOpen);
  if (!admitted) return;
  if (service_ == nullptr) return answer_in_its_shape(*admitted, no_banks());
  admitted->answer((this->*page)());
}

http::ServerReply MemoryCalls::version() const {
  return memory_reply(json::object{{"api_version", kApiVersion},
                                   {"features",
                                    {{"observations", true},
                                     {"mcp", false},
                                     {"worker", true},
                                     {"bank_config_api", true},
                                     {"bank_llm_health", false},
                                     {"file_upload_api", false},
                                     {"document_export_api", false},
                                     {"document_import_api", false},
                                     {"audit_log", false},
                                     {"llm_trace", false},
                                     {"store_document_text", true}}}});
}

http::ServerReply MemoryCalls::liveness() const {
  return memory_reply(
      json::object{{"status", "alive"},
                   {"version", kApiVersion},
                   {"uptime_seconds", seconds(service_->clock().now() - started_)}});
}

http::ServerReply MemoryCalls::readiness() const {
  const bool ready = service_->is_started();
  http::ServerReply reply = memory_reply(json::object{{"status", ready ? "healthy" : "unhealthy"},
                                                      {"database", "connected"},
                                                      {"models", ready ? "ready" : "loading"}});
  if (!ready) reply.status = 503;
  return reply;
}

}  // namespace windrow::api
