#include "api/storage/storage_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <new>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "api/calls/batch_rows.h"
#include "api/pages/list_page.h"
#include "api/pages/models_page.h"
#include "api/pages/query.h"
#include "api/storage/byte_range.h"
#include "api/storage/file_form.h"
#include "api/wire/error_reply.h"
#include "api/wire/refusals.h"
#include "batches/batch_json.h"
#include "batches/batch_request.h"
#include "batches/file_json.h"
#include "http/multipart.h"
#include "json/depth.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr int32_t kThreads = 2;

// So much of a file lies in memory for a client who fetches it.
constexpr size_t kPieceBytes = size_t{256} << 10;

// A form may be so many bytes larger than the file in it.
constexpr int64_t kFormBytesMax = int64_t{1} << 20;

// Of a client who left in the middle, for the log.
constexpr int kLeft = 499;

// When who came while too many files were on their way may try again.
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
          .message = fmt::format("{} files are on their way to or from this server, and more there "
                                 "may not be at a time; try again in some seconds",
                                 most),
          .retry_after_ms = kTransferAgainMs};
}

http::ServerReply reply_of(const json::object& object) {
  return {.body = json::serialize(object)};
}

std::variant<http::ServerReply, llm::Failure> reply_of(
    const batches::Reply<batches::BatchView>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) return *failure;
  const auto& view = std::get<batches::BatchView>(reply);
  return reply_of(batches::batch_json(view.record, view.note));
}

std::variant<http::ServerReply, llm::Failure> reply_of(
    const batches::Reply<batches::StoredFile>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) return *failure;
  return reply_of(batches::file_json(std::get<batches::StoredFile>(reply)));
}

}  // namespace

// One of the files that are on their way, while it is.
class StorageCalls::Transfer {
 public:
  explicit Transfer(std::atomic<int32_t>& transfers) : transfers_(transfers), count_(++transfers) {}
  ~Transfer() { --transfers_; }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // With this one.
  int32_t count() const { return count_; }

 private:
  std::atomic<int32_t>& transfers_;
  const int32_t count_;
};

// A request that is inside, until its answer is complete. Used by one thread at a time.
struct StorageCalls::Asked {
  Asked(RequestContext of_front, http::Exchange to, const std::function<void()>& when_over)
      : over(when_over), admitted(std::move(of_front)), exchange(std::move(to)) {}

  batches::Viewer viewer() const {
    return {.key = admitted.record().key, .sees_all = admitted.sees_all()};
  }

  void answer(Answered answered) {
    if (const auto* failure = std::get_if<llm::Failure>(&answered)) {
      admitted.record().code = failure->code;
      return answer(error_reply(*failure));
    }
    auto& reply = std::get<http::ServerReply>(answered);
    admitted.record().status = reply.status;
    admitted.add_headers(reply.headers);
    exchange.send(std::move(reply));
  }

  // The first member, so that it speaks when all others are gone.
  struct Over {
    explicit Over(const std::function<void()>& of_owner) : say(of_owner) {}
    ~Over() { say(); }
    Over(const Over&) = delete;
    Over& operator=(const Over&) = delete;
    const std::function<void()>& say;
  } over;
  RequestContext admitted;
  http::Exchange exchange;
  std::optional<Transfer> transfer;
  std::string id;  // of the path
  std::string query;
  std::string content_type;
  std::string idempotency_key;
  std::optional<std::string> range;
  bool head_only = false;
  std::string body;
};

StorageCalls::StorageCalls(RequestGuard& front, Storage storage, Refusal refusal,
                           std::function<void()> begun, std::function<void()> over)
    : front_(front),
      storage_(storage),
      refusal_(std::move(refusal)),
      begun_(std::move(begun)),
      over_(std::move(over)),
      workers_(kThreads) {}

StorageCalls::~StorageCalls() = default;

void StorageCalls::add_routes(const Add& add) {
  using Member = Answered (StorageCalls::*)(const Asked&) const;
  const auto route = [&](std::string_view method, std::string_view path, Member work) {
    add(method, path, [this, work](const http::ServerRequest& request, http::Exchange exchange) {
      take(request, std::move(exchange),
           [this, work](const Asked& asked) { return (this->*work)(asked); });
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

// Null: it was answered.
std::shared_ptr<StorageCalls::Asked> StorageCalls::admit(const http::ServerRequest& request,
                                                         http::Exchange& exchange) {
  auto entered = front_.admit(request, Access::kKey);
  if (auto* reply = std::get_if<http::ServerReply>(&entered)) {
    exchange.send(std::move(*reply));
    return nullptr;
  }
  begun_();
  auto asked = std::make_shared<Asked>(std::get<RequestContext>(std::move(entered)),
                                       std::move(exchange), over_);
  asked->admitted.take_id(request.headers);
  if (auto failure = refusal_()) {
    asked->answer(*std::move(failure));
    return nullptr;
  }
  if (storage_.files == nullptr || storage_.batches == nullptr) {
    asked->answer(no_storage());
    return nullptr;
  }
  const auto header = [&](std::string_view name) {
    return std::string(request.headers.get(name).value_or(""));
  };
  if (!request.parts.empty()) asked->id = decode_part(request.parts.front());
  asked->query = request.query;
  asked->content_type = header("Content-Type");
  asked->idempotency_key = header("Idempotency-Key");
  if (const auto range = request.headers.get("Range")) asked->range = std::string(*range);
  asked->head_only = request.method == "HEAD";
  asked->body = std::move(request.body);
  return asked;
}

void StorageCalls::take(const http::ServerRequest& request, http::Exchange exchange, Work work) {
  std::shared_ptr<Asked> asked = admit(request, exchange);
  if (!asked) return;
  const auto length = asked->body.size() > kBatchBodyMax ? async::Executor::Length::kLong
                                                         : async::Executor::Length::kShort;
  workers_.post(
      [asked = std::move(asked), work = std::move(work)] {
        // What one request does to the server must not be done to the others.
        try {
          asked->answer(work(*asked));
        } catch (const std::bad_alloc&) {
          asked->answer(no_memory("for this"));
        }
      },
      length);
}

std::shared_ptr<StorageCalls::Asked> StorageCalls::admit_transfer(
    const http::ServerRequest& request, http::Exchange& exchange) {
  std::shared_ptr<Asked> asked = admit(request, exchange);
  if (!asked) return nullptr;
  asked->transfer.emplace(transfers_);
  if (asked->transfer->count() <= storage_.transfers_max) return asked;
  asked->answer(too_many_transfers(storage_.transfers_max));
  return nullptr;
}

// --- files -------------------------------------------------------------------------------------

// A form on its way to the disk: a piece is asked for when the one before has been written.
class StorageCalls::Upload : public std::enable_shared_from_this<Upload> {
 public:
  Upload(std::shared_ptr<Asked> asked, http::RequestBody body, http::MultipartReader reader,
         batches::FileStore& files, async::Executor& workers)
      : asked_(std::move(asked)),
        body_(std::move(body)),
        reader_(std::move(reader)),
        form_(files),
        workers_(workers) {}

  void go_on() {
    body_.next([self = shared_from_this()](http::BodyPiece piece) mutable {
      // The end waits until everything is safe on the disk.
      const auto length = piece.state == http::BodyPiece::State::kEnd
                              ? async::Executor::Length::kLong
                              : async::Executor::Length::kShort;
      async::Executor& workers = self->workers_;
      workers.post([self = std::move(self), piece = std::move(piece)] { self->take(piece); },
                   length);
    });
  }

 private:
  // On a worker. What does not become a file is taken away with this.
  void take(const http::BodyPiece& piece) {
    try {
      take_piece(piece);
    } catch (const std::bad_alloc&) {
      asked_->answer(no_memory("for this"));
    }
  }

  void take_piece(const http::BodyPiece& piece) {
    RequestRecord& record = asked_->admitted.record();
    if (piece.state == http::BodyPiece::State::kBroken) {
      record.status = piece.status != 0 ? piece.status : kLeft;
      return;
    }
    record.body_bytes += piece.bytes.size();
    Result<void> read = reader_.feed(piece.bytes, form_);
    if (read && piece.state == http::BodyPiece::State::kMore) return go_on();
    if (read) read = reader_.finish();
    asked_->answer(read ? reply_of(form_.finish(asked_->viewer()))
                        : Answered(form_.failure(read.error())));
  }

  const std::shared_ptr<Asked> asked_;
  http::RequestBody body_;
  http::MultipartReader reader_;
  FileForm form_;
  async::Executor& workers_;
};

void StorageCalls::take_upload(const http::ServerRequest& head, http::Exchange exchange,
                               http::RequestBody body) {
  std::shared_ptr<Asked> asked = admit_transfer(head, exchange);
  if (!asked) return;
  // What is too large by its own word need not come.
  int64_t announced = 0;
  const std::string_view length = head.headers.get("Content-Length").value_or("");
  std::from_chars(length.data(), length.data() + length.size(), announced);
  if (const auto failure = storage_.files->refuse_bytes(announced - kFormBytesMax))
    return asked->answer(*failure);
  Result<http::MultipartReader> reader = http::MultipartReader::of(asked->content_type);
  if (!reader) {
    return asked->answer(batches::invalid(reader.error().message, "Content-Type"));
  }
  std::make_shared<Upload>(std::move(asked), std::move(body), *std::move(reader), *storage_.files,
                           workers_)
      ->go_on();
}

StorageCalls::Answered StorageCalls::list_files(const Asked& asked) const {
  const Query query(asked.query);
  batches::FileQuery wanted;
  if (const auto problem = query.only({"after", "limit", "order", "purpose"})) return *problem;
  if (const auto problem = query.number("limit", wanted.limit, wanted.limit)) return *problem;
  const std::string order = query.text("order").value_or("desc");
  if (order != "asc" && order != "desc")
    return batches::invalid("order must be \"asc\" or \"desc\"", "order");
  wanted.ascending = order == "asc";
  wanted.after = query.text("after").value_or("");
  wanted.purpose = query.text("purpose").value_or("");
  const auto found = storage_.files->list(asked.viewer(), wanted);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return *failure;
  const auto& page = std::get<batches::FilePage>(found);
  json::array data;
  for (const batches::StoredFile& file : page.files)
    data.push_back(batches::file_json(file));
  return reply_of(list_page(std::move(data), page.has_more));
}

StorageCalls::Answered StorageCalls::file(const Asked& asked) const {
  return reply_of(storage_.files->get(asked.viewer(), asked.id));
}

StorageCalls::Answered StorageCalls::delete_file(const Asked& asked) const {
  const auto removed = storage_.files->remove(asked.viewer(), asked.id);
  if (const auto* failure = std::get_if<llm::Failure>(&removed)) return *failure;
  return reply_of(json::object{{"id", asked.id}, {"object", "file"}, {"deleted", true}});
}

// The bytes of a file on their way to a client: a piece is read when the one before has been taken.
class StorageCalls::Download : public std::enable_shared_from_this<Download> {
 public:
  Download(std::shared_ptr<Asked> asked, batches::FileContent content, ByteRange range,
           async::Executor& workers)
      : asked_(std::move(asked)), content_(std::move(content)), left_(range), workers_(workers) {}

  void start(int status, http::Headers headers) {
    asked_->admitted.record().status = status;
    asked_->admitted.add_headers(headers);
    asked_->exchange.start(status, std::move(headers), left_.end - left_.begin);
    if (asked_->head_only) return asked_->exchange.finish();
    send_next();
  }

 private:
  // On a worker.
  void send_next() {
    try {
      send_piece();
    } catch (const std::bad_alloc&) {
      asked_->exchange.reset();  // the answer has begun
    }
  }

  void send_piece() {
    std::string piece(static_cast<size_t>(std::min<uint64_t>(kPieceBytes, left_.end - left_.begin)),
                      '\0');
    const Result<size_t> read = content_.bytes->read_at(left_.begin, piece.data(), piece.size());
    // Somebody cut it off after it was opened: so is the answer, which promised more.
    if (!read || *read < piece.size()) return asked_->exchange.reset();
    left_.begin += piece.size();
    asked_->exchange.write(std::move(piece));
    if (left_.begin == left_.end) return asked_->exchange.finish();
    // A client who is gone never takes it; then this goes with the exchange.
    asked_->exchange.on_drained(
        0, [self = shared_from_this()] { self->workers_.post([self] { self->send_next(); }); });
  }

  const std::shared_ptr<Asked> asked_;
  batches::FileContent content_;
  ByteRange left_;
  async::Executor& workers_;
};

void StorageCalls::take_download(const http::ServerRequest& request, http::Exchange exchange) {
  std::shared_ptr<Asked> asked = admit_transfer(request, exchange);
  if (!asked) return;
  workers_.post([this, asked = std::move(asked)] { send_file(asked); });
}

// On a worker.
void StorageCalls::send_file(const std::shared_ptr<Asked>& asked) {
  auto opened = storage_.files->open_content(asked->viewer(), asked->id);
  if (const auto* failure = std::get_if<llm::Failure>(&opened)) return asked->answer(*failure);
  auto& content = std::get<batches::FileContent>(opened);
  const auto size = static_cast<uint64_t>(content.file.bytes);
  const WantedRange wanted = wanted_range(asked->range, size);
  if (wanted.kind == RangeKind::kNone) {
    http::ServerReply reply = error_reply(llm::Failure{
        .status = 416,
        .code = "range_not_satisfiable",
        .message = fmt::format("the file has {} bytes; the Range begins behind them", size)});
    asked->admitted.record().code = "range_not_satisfiable";
    reply.headers.add("Content-Range", content_range(wanted, size));
    return asked->answer(std::move(reply));
  }
  http::Headers headers{{"Content-Type", "application/octet-stream"}, {"Accept-Ranges", "bytes"}};
  if (wanted.kind == RangeKind::kPart) headers.add("Content-Range", content_range(wanted, size));
  std::make_shared<Download>(asked, std::move(content), wanted.range, workers_)
      ->start(wanted.kind == RangeKind::kPart ? 206 : 200, std::move(headers));
}

// --- batches -----------------------------------------------------------------------------------

StorageCalls::Answered StorageCalls::create_batch(const Asked& asked) const {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  std::array<unsigned char, 4096> stack;
  json::parser parser(json::storage_ptr(), options, stack.data(), stack.size());
  boost::system::error_code error = json::error::incomplete;
  if (asked.body.size() <= kBatchBodyMax) parser.write(asked.body.data(), asked.body.size(), error);
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
  return reply_of(storage_.batches->create(asked.viewer(), std::get<batches::BatchRequest>(wanted),
                                           asked.idempotency_key));
}

StorageCalls::Answered StorageCalls::list_batches(const Asked& asked) const {
  const Query query(asked.query);
  batches::BatchQuery wanted;
  if (const auto problem = query.only({"after", "limit"})) return *problem;
  if (const auto problem = query.number("limit", wanted.limit, wanted.limit)) return *problem;
  wanted.after = query.text("after").value_or("");
  const auto found = storage_.batches->list(asked.viewer(), wanted);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return *failure;
  const auto& page = std::get<batches::BatchPage>(found);
  json::array data;
  for (const batches::BatchView& view : page.batches)
    data.push_back(batches::batch_json(view.record, view.note));
  return reply_of(list_page(std::move(data), page.has_more));
}

StorageCalls::Answered StorageCalls::batch(const Asked& asked) const {
  return reply_of(storage_.batches->get(asked.viewer(), asked.id));
}

StorageCalls::Answered StorageCalls::cancel_batch(const Asked& asked) const {
  return reply_of(storage_.batches->cancel(asked.viewer(), asked.id));
}

}  // namespace windrow::api
