#include "api/storage/storage_calls.h"

#include <embedded/storage_openapi.json.h>
#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>
#include <new>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "api/calls/batch_rows.h"
#include "api/pages/listing.h"
#include "api/pages/models_page.h"
#include "api/storage/file_transfer.h"
#include "api/wire/refusals.h"
#include "batches/batch_json.h"
#include "json/limits.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr int32_t kThreads = 2;

// Retry-After where too many files are on their way.
constexpr int64_t kTransferAgainMs = 2000;

constexpr size_t kBatchBodyMax = size_t{1} << 20;

llm::Failure no_storage() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 501,
          .code = "no_data_dir",
          .message =
              "this server keeps no files and runs no batches; the operator must start it "
              "with --data-dir FOLDER"};
}

llm::Failure too_many_transfers(int32_t most) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 503,
          .code = "too_many_transfers",
          .message = fmt::format("{} files are being transferred to or from this server, which is "
                                 "its limit; try again in a few seconds",
                                 most),
          .retry_after_ms = kTransferAgainMs};
}

}  // namespace

StorageCalls::StorageCalls(const PartHost& host, Storage storage)
    : host_(host), storage_(storage), workers_(kThreads) {}

StorageCalls::~StorageCalls() = default;

PartFactory storage_part(Storage storage) {
  return [storage](const PartHost& host) { return std::make_unique<StorageCalls>(host, storage); };
}

void StorageCalls::add_routes(const Add& add) {
  using Member = PartAnswer (StorageCalls::*)(const StorageRequest&) const;
  const auto route = [&](std::string_view method, std::string_view path, Member work) {
    add(method, path, [this, work](const http::ServerRequest& request, http::Exchange exchange) {
      take(request, std::move(exchange),
           [this, work](const StorageRequest& accepted) { return (this->*work)(accepted); });
    });
  };
  add("POST", "/v1/files",
      http::Handler::in_pieces(
          [this](const http::ServerRequest& head, http::Exchange exchange, http::RequestBody body) {
            take_upload(head, std::move(exchange), std::move(body));
          }));
  route("GET", "/v1/files", &StorageCalls::list_files);
  route("GET", "/v1/files/{id}", &StorageCalls::file);
  route("DELETE", "/v1/files/{id}", &StorageCalls::delete_file);
  add("GET", "/v1/files/{id}/content",
      [this](const http::ServerRequest& request, http::Exchange exchange) {
        take_download(request, std::move(exchange));
      });
  route("POST", "/v1/batches", &StorageCalls::create_batch);
  route("GET", "/v1/batches", &StorageCalls::list_batches);
  route("GET", "/v1/batches/{id}", &StorageCalls::batch);
  route("POST", "/v1/batches/{id}/cancel", &StorageCalls::cancel_batch);
}

void add_storage_metrics(const StorageReading& storage, MetricsWriter& page) {
  page.family("windrow_batches", "gauge", "Batches of /v1/batches, by status.");
  for (size_t i = 0; i < storage.batches.by_status.size(); ++i) {
    page.sample({{"status", batches::to_string(static_cast<batches::BatchStatus>(i))}},
                storage.batches.by_status.at(i));
  }
  page.family("windrow_batch_rows_total", "counter", "Rows of batches that have a result.");
  page.sample({{"result", "completed"}}, storage.batches.rows_completed);
  page.sample({{"result", "failed"}}, storage.batches.rows_failed);
  page.family("windrow_files", "gauge", "Files of /v1/files.");
  page.sample({}, storage.files.files);
  page.family("windrow_files_bytes", "gauge", "Bytes of files, uploads in progress included.");
  page.sample({}, storage.files.bytes);
}

void StorageCalls::metrics(MetricsWriter& page) const {
  StorageReading reading;
  if (storage_.batches != nullptr) reading.batches = storage_.batches->readings();
  if (storage_.files != nullptr) reading.files = storage_.files->totals();
  add_storage_metrics(reading, page);
}

void StorageCalls::add_requests(json::object& page, std::optional<std::string_view> key) const {
  if (storage_.batches == nullptr) return;
  json::array running;
  for (const batches::RunningBatch& batch : storage_.batches->running(key))
    running.push_back(batches::running_json(batch));
  page["batches"] = std::move(running);
}

json::object StorageCalls::openapi() const {
  return json::parse(embedded::kStorageOpenapiJson).as_object();
}

// Null: the request has been answered.
std::shared_ptr<StorageRequest> StorageCalls::admit(const http::ServerRequest& request,
                                                    http::Exchange exchange) {
  std::optional<PartRequest> admitted = host_.admit(request, std::move(exchange), Access::kKey);
  if (!admitted) return nullptr;
  if (storage_.files == nullptr || storage_.batches == nullptr) {
    admitted->answer(no_storage());
    return nullptr;
  }
  auto accepted = std::make_shared<StorageRequest>(*std::move(admitted));
  const auto header = [&](std::string_view name) {
    return std::string(request.headers.get(name).value_or(""));
  };
  if (!request.parts.empty()) accepted->id = decode_part(request.parts.front());
  accepted->query = request.query;
  accepted->content_type = header("Content-Type");
  accepted->idempotency_key = header("Idempotency-Key");
  if (const auto range = request.headers.get("Range")) accepted->range = std::string(*range);
  accepted->head_only = request.method == "HEAD";
  accepted->body = std::move(request.body);
  return accepted;
}

void StorageCalls::take(const http::ServerRequest& request, http::Exchange exchange, Work work) {
  std::shared_ptr<StorageRequest> accepted = admit(request, std::move(exchange));
  if (!accepted) return;
  const auto length = accepted->body.size() > kBatchBodyMax ? async::Executor::Length::kLong
                                                            : async::Executor::Length::kShort;
  workers_.post(
      [accepted = std::move(accepted), work = std::move(work)] {
        // A request that the server has no memory for fails alone.
        try {
          accepted->answer(work(*accepted));
        } catch (const std::bad_alloc&) {
          accepted->answer(no_memory("for this"));
        }
      },
      length);
}

std::shared_ptr<StorageRequest> StorageCalls::admit_transfer(const http::ServerRequest& request,
                                                             http::Exchange exchange) {
  std::shared_ptr<StorageRequest> accepted = admit(request, std::move(exchange));
  if (!accepted) return nullptr;
  accepted->transfer.emplace(transfers_);
  if (accepted->transfer->count() <= storage_.transfers_max) return accepted;
  accepted->answer(too_many_transfers(storage_.transfers_max));
  return nullptr;
}

// --- files -------------------------------------------------------------------------------------

void StorageCalls::take_upload(const http::ServerRequest& head, http::Exchange exchange,
                               http::RequestBody body) {
  std::shared_ptr<StorageRequest> accepted = admit_transfer(head, std::move(exchange));
  if (!accepted) return;
  FileUpload::start(std::move(accepted), head, std::move(body), *storage_.files, workers_);
}

PartAnswer StorageCalls::list_files(const StorageRequest& request) const {
  const Query query(request.query);
  batches::FileQuery wanted;
  if (const auto problem = query.only({"after", "limit", "order", "purpose"})) return *problem;
  if (const auto problem = query.number("limit", wanted.limit, wanted.limit)) return *problem;
  const std::string order = query.text("order").value_or("desc");
  if (order != "asc" && order != "desc")
    return batches::invalid("order must be \"asc\" or \"desc\"", "order");
  wanted.ascending = order == "asc";
  wanted.after = query.text("after").value_or("");
  wanted.purpose = query.text("purpose").value_or("");
  const auto found = storage_.files->list(request.viewer(), wanted);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return *failure;
  const auto& page = std::get<batches::FilePage>(found);
  json::array data;
  for (const batches::StoredFile& file : page.files)
    data.push_back(batches::file_json(file));
  return reply_of(list_page(std::move(data), page.has_more));
}

PartAnswer StorageCalls::file(const StorageRequest& request) const {
  return reply_of(storage_.files->get(request.viewer(), request.id));
}

PartAnswer StorageCalls::delete_file(const StorageRequest& request) const {
  const auto removed = storage_.files->remove(request.viewer(), request.id);
  if (const auto* failure = std::get_if<llm::Failure>(&removed)) return *failure;
  return reply_of(json::object{{"id", request.id}, {"object", "file"}, {"deleted", true}});
}

void StorageCalls::take_download(const http::ServerRequest& request, http::Exchange exchange) {
  std::shared_ptr<StorageRequest> accepted = admit_transfer(request, std::move(exchange));
  if (!accepted) return;
  workers_.post([this, accepted = std::move(accepted)] {
    FileDownload::start(accepted, *storage_.files, workers_);
  });
}

// --- batches -----------------------------------------------------------------------------------

PartAnswer StorageCalls::create_batch(const StorageRequest& request) const {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  std::array<unsigned char, 4096> stack;
  json::parser parser(json::storage_ptr(), options, stack.data(), stack.size());
  boost::system::error_code error = json::error::incomplete;
  if (request.body.size() <= kBatchBodyMax)
    parser.write(request.body.data(), request.body.size(), error);
  const json::value body = error ? json::value() : parser.release();
  const auto invalid_json = [](std::string message) {
    return llm::Failure{.status = 400, .code = "invalid_json", .message = std::move(message)};
  };
  if (!body.is_object()) {
    return invalid_json(
        "the body must be one JSON object: {\"input_file_id\", \"endpoint\", "
        "\"completion_window\"}");
  }
  auto wanted = batches::read_batch_request(body.get_object(), row_apis());
  if (const auto* failure = std::get_if<llm::Failure>(&wanted)) return *failure;
  return reply_of(storage_.batches->create(
      request.viewer(), std::get<batches::BatchRequest>(wanted), request.idempotency_key));
}

PartAnswer StorageCalls::list_batches(const StorageRequest& request) const {
  const Query query(request.query);
  batches::BatchQuery wanted;
  if (const auto problem = query.only({"after", "limit"})) return *problem;
  if (const auto problem = query.number("limit", wanted.limit, wanted.limit)) return *problem;
  wanted.after = query.text("after").value_or("");
  const auto found = storage_.batches->list(request.viewer(), wanted);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return *failure;
  const auto& page = std::get<batches::BatchPage>(found);
  json::array data;
  for (const batches::BatchView& view : page.batches)
    data.push_back(batches::batch_json(view.record, view.note, view.progress));
  return reply_of(list_page(std::move(data), page.has_more));
}

PartAnswer StorageCalls::batch(const StorageRequest& request) const {
  return reply_of(storage_.batches->get(request.viewer(), request.id));
}

PartAnswer StorageCalls::cancel_batch(const StorageRequest& request) const {
  return reply_of(storage_.batches->cancel(request.viewer(), request.id));
}

}  // namespace windrow::api
