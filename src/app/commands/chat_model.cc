#include "app/commands/chat_model.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/session_client.h"
#include "base/crypto.h"
#include "base/hash.h"
#include "base/random.h"
#include "dispatch/work_item.h"
#include "json/parse.h"
#include "json/values.h"
#include "llm/body_reader.h"
#include "llm/stream_sink.h"
#include "upstream/sse_reader.h"
#include "upstream/upstream_backend.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

// Passes pieces from the thread that gets them to the one that shows them, so that a slow terminal
// holds up neither a model nor a loop. Thread-safe.
class PieceQueue {
 public:
  void add(ChatPiece piece) {
    if (piece.text.empty() && piece.reasoning.empty()) return;
    const std::scoped_lock lock(mutex_);
    pieces_.push_back(std::move(piece));
    changed_.notify_one();
  }

  // No more pieces come; once.
  void end(Result<void> how) {
    const std::scoped_lock lock(mutex_);
    end_ = std::move(how);
    changed_.notify_one();
  }

  // Blocks until the end.
  Result<void> take_all(const ChatModel::Take& take) {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return end_ || !pieces_.empty(); });
      const std::vector<ChatPiece> pieces = std::exchange(pieces_, {});
      const std::optional<Result<void>> end = end_;
      lock.unlock();
      for (const ChatPiece& piece : pieces)
        take(piece);
      if (end) return *end;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChatPiece> pieces_;
  std::optional<Result<void>> end_;
};

// --- a model in this process --------------------------------------------------------------------

class PieceSink final : public llm::StreamSink {
 public:
  explicit PieceSink(std::shared_ptr<PieceQueue> queue) : queue_(std::move(queue)) {}

  void on_delta(llm::Delta piece) override {
    queue_->add({.text = piece.text + piece.refusal, .reasoning = std::move(piece.reasoning)});
  }

 private:
  const std::shared_ptr<PieceQueue> queue_;
};

Error chat_error(const llm::Failure& failure) {
  const bool of_request = failure.failure_class == llm::FailureClass::kRequest;
  return {of_request ? ErrorKind::kInvalid : ErrorKind::kUnavailable, failure.message};
}

class LocalChatModel final : public ChatModel {
 public:
  explicit LocalChatModel(dispatch::Dispatcher& dispatcher) : dispatcher_(dispatcher) {}

  Result<void> answer(const json::object& body, const Take& take,
                      const std::stop_token& stop) override {
    constexpr auto kChat = llm::Endpoint::kChatCompletions;
    auto read = llm::read_body(kChat, {}, body, seeds_.next());
    if (const auto* failure = std::get_if<llm::Failure>(&read)) return chat_error(*failure);
    llm::Request& request = std::get<llm::ReadBody>(read).request;
    const auto queue = std::make_shared<PieceQueue>();
    dispatch::WorkItem item = dispatch::request_item(request, json::serialize(body).size());
    item.priority = llm::Priority::kInteractive;
    const std::optional<dispatch::ItemId> id = dispatcher_.submit(
        std::move(request), item, 0,
        [queue](const dispatch::DispatchResult& result) {
          const auto* failure = std::get_if<llm::Failure>(&result.outcome);
          const bool stopped =
              failure != nullptr && failure->failure_class == llm::FailureClass::kCancelled;
          queue->end(failure == nullptr || stopped ? Result<void>() : chat_error(*failure));
        },
        std::stop_token{}, {.listener = std::make_shared<PieceSink>(queue)});
    if (!id) return Error{ErrorKind::kUnavailable, "the model takes no more requests"};
    const std::stop_callback cancel(stop, [this, id] { dispatcher_.cancel(*id); });
    return queue->take_all(take);
  }

 private:
  dispatch::Dispatcher& dispatcher_;
  Random seeds_{hash64(secret_bytes(8))};
};

// --- a server -----------------------------------------------------------------------------------

// Of one event; an answer has very many.
constexpr size_t kChatEventBytesMax = size_t{16} << 20;

std::string string_member(const json::value* object, std::string_view name) {
  const json::value* value = member_in(object, name);
  if (value == nullptr || !value->is_string()) return "";
  return std::string(value->get_string());
}

// The stream of one answer: bytes become pieces. On the loop's thread, but for its queue.
class ChatStream {
 public:
  PieceQueue& queue() { return queue_; }

  // False: the rest is not wanted, as it cannot be read, or the server reported a failure.
  bool add(std::string_view bytes) {
    std::vector<upstream::SseEvent> events;
    if (const Result<void> added = events_.add(bytes, events); !added) fault_ = added.error();
    return read(events);
  }

  void finish() {
    std::vector<upstream::SseEvent> events;
    events_.finish(events);
    read(events);
  }

  const std::optional<Error>& fault() const { return fault_; }

 private:
  bool read(const std::vector<upstream::SseEvent>& events) {
    for (const upstream::SseEvent& event : events) {
      if (fault_) return false;
      if (event.data != "[DONE]") read_event(event.data);
    }
    return !fault_;
  }

  void read_event(const std::string& text) {
    const auto parsed = parse_json(text);
    const auto* event = std::get_if<json::value>(&parsed);
    if (event == nullptr) {
      fault_ = Error{ErrorKind::kUnavailable,
                     "the server's stream has an event that is not JSON; does --url name a server "
                     "with OpenAI's API?"};
      return;
    }
    // Some servers write "error": null in every event.
    if (const json::value* error = member_in(event, "error"); error && !error->is_null()) {
      fault_ = Error{ErrorKind::kUnavailable, error_text_in(text)};
      return;
    }
    const json::value* choices = member_in(event, "choices");
    const json::array* list = choices == nullptr ? nullptr : choices->if_array();
    if (list == nullptr || list->empty()) return;
    const json::value* delta = member_in(&list->front(), "delta");
    std::string reasoning = string_member(delta, "reasoning_content");
    // OpenRouter and newer vLLM name it so.
    if (reasoning.empty()) reasoning = string_member(delta, "reasoning");
    queue_.add({.text = string_member(delta, "content") + string_member(delta, "refusal"),
                .reasoning = std::move(reasoning)});
  }

  PieceQueue queue_;
  upstream::SseReader events_{kChatEventBytesMax};
  std::optional<Error> fault_;
};

class ServedChatModel final : public ChatModel {
 public:
  ServedChatModel(http::Client& client, http::Url base, std::string api_key)
      : client_(client),
        base_(upstream::with_version(std::move(base))),
        api_key_(std::move(api_key)) {}

  Result<void> answer(const json::object& body, const Take& take,
                      const std::stop_token& stop) override {
    json::object whole = body;
    whole["stream"] = true;
    http::ClientRequest request;
    request.method = http::Method::kPost;
    request.url = upstream::target_of(base_, llm::Endpoint::kChatCompletions);
    request.headers.set("Content-Type", "application/json");
    if (!api_key_.empty()) request.headers.set("Authorization", fmt::format("Bearer {}", api_key_));
    request.body = std::make_shared<const std::string>(json::serialize(whole));
    request.limits.taken_bytes_max = SIZE_MAX;

    const auto stream = std::make_shared<ChatStream>();
    request.on_data = [stream](const http::ReplyHead&, std::string_view bytes) {
      return stream->add(bytes);
    };
    const http::CallId call =
        client_.send(std::move(request), [this, stream, stop](const http::ClientResult& result) {
          stream->finish();
          stream->queue().end(how_it_ended(result, *stream, stop));
        });
    const std::stop_callback cancel(stop, [this, call] { client_.cancel(call); });
    return stream->queue().take_all(take);
  }

 private:
  Result<void> how_it_ended(const http::ClientResult& result, const ChatStream& stream,
                            const std::stop_token& stop) const {
    if (stop.stop_requested()) return {};
    if (stream.fault()) return *stream.fault();
    if (const auto* failure = std::get_if<http::ClientFailure>(&result)) {
      const bool away = failure->kind == http::FailureKind::kConnect ||
                        failure->kind == http::FailureKind::kResolve;
      return Error{ErrorKind::kUnavailable,
                   failure->message + (away ? "; --url names another server" : "")};
    }
    const auto& reply = std::get<http::ClientReply>(result);
    const int32_t status = reply.head.status;
    if (status >= 200 && status < 300) return {};
    const std::string said = error_text_in(reply.body);
    std::string text = fmt::format("{}: {}", http::origin(base_),
                                   said.empty() ? fmt::format("status {}", status) : said);
    if (status == 401 || status == 403)
      text += "; --api-key-env NAME names the variable that holds the key";
    return Error{status >= 500 ? ErrorKind::kUnavailable : ErrorKind::kInvalid, std::move(text)};
  }

  http::Client& client_;
  const http::Url base_;
  const std::string api_key_;
};

}  // namespace

std::unique_ptr<ChatModel> local_chat_model(dispatch::Dispatcher& dispatcher) {
  return std::make_unique<LocalChatModel>(dispatcher);
}

std::unique_ptr<ChatModel> served_chat_model(http::Client& client, http::Url base,
                                             std::string api_key) {
  return std::make_unique<ServedChatModel>(client, std::move(base), std::move(api_key));
}

}  // namespace windrow::app
