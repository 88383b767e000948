#include "upstream/ollama_backend.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "llm/pending_requests.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

// A large model takes minutes to load.
constexpr Duration kLoadTimeout = std::chrono::minutes(10);
constexpr size_t kOllamaReplyBytesMax = size_t{16} << 20;

llm::Failure ollama_cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was sent",
          .param = {}};
}

// Bytes of the body as a measure of its tokens; 0 where there are images or sounds among them.
int64_t telling_bytes(const std::string& raw) {
  const bool has_media = raw.find("\"image_url\"") != std::string::npos ||
                         raw.find("\"input_audio\"") != std::string::npos;
  return has_media ? 0 : std::ssize(raw);
}

}  // namespace

// What is known of one model. Guarded by the state's mutex, except its names and the questions.
struct OllamaBackend::Model {
  std::string name;   // in requests
  std::string there;  // at the server
  bool known = false;
  OllamaContext context;
  BytesPerToken ratio;
  llm::PendingRequests pending{ollama_cancelled()};  // calls that wait until it is known

  // The questions, in their order: loading, /api/ps, /api/show.
  std::vector<http::ClientRequest> questions;
  std::vector<std::string> answers;
};

struct OllamaBackend::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Model>> models;
  int asking = 0;  // models whose questions are not all answered
  bool closed = false;
  std::map<const Model*, http::CallId> calls;
};

OllamaBackend::OllamaBackend(http::Client& client, llm::Backend& inner, UpstreamOptions options,
                             OnContext on_context)
    : client_(client),
      inner_(inner),
      options_(std::move(options)),
      server_(options_.client_name.empty() ? http::origin(options_.base) : options_.client_name),
      on_context_(std::move(on_context)),
      state_(std::make_shared<State>()) {}

OllamaBackend::~OllamaBackend() {
  std::vector<http::CallId> calls;
  std::vector<std::shared_ptr<Model>> models;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->closed = true;
    for (const auto& [name, model] : state_->models)
      models.push_back(model);
    for (const auto& [model, call] : state_->calls)
      calls.push_back(call);
  }
  // Before the calls: their end would send what is pending.
  for (const std::shared_ptr<Model>& model : models) {
    for (llm::PendingRequests::Taken& taken : model->pending.take_all())
      std::move(taken).end(ollama_cancelled());
  }
  for (const http::CallId call : calls)
    client_.cancel(call);
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->asking == 0; });
}

// --- rows ---------------------------------------------------------------------------------------

void OllamaBackend::submit(llm::BackendCall call, Done done) {
  const llm::Request& request = *call.request;
  // What it asks is not known here, nor what of it was cut.
  if (request.verbatim) return inner_.submit(std::move(call), std::move(done));
  std::shared_ptr<Model> model;
  bool first = false;
  {
    const std::scoped_lock lock(state_->mutex);
    std::shared_ptr<Model>& found = state_->models[request.model];
    first = found == nullptr;
    if (first) {
      found = std::make_shared<Model>();
      found->name = request.model;
      const auto alias = options_.aliases.find(request.model);
      found->there = alias == options_.aliases.end() ? request.model : alias->second;
      ++state_->asking;
    }
    model = found;
  }
  const llm::Endpoint endpoint = request.endpoint;
  if (!holds(*model, call, done)) forward(model, std::move(call), std::move(done));
  if (first) ask(model, endpoint);
}

// Takes the call where the context of its model is not known yet.
bool OllamaBackend::holds(Model& model, llm::BackendCall& call, Done& done) {
  llm::PendingId id;
  {
    const std::scoped_lock lock(state_->mutex);
    if (model.known) return false;
    id = model.pending.add(std::move(call), std::move(done));
  }
  model.pending.watch(id);
  return true;
}

void OllamaBackend::forward(const std::shared_ptr<Model>& model, llm::BackendCall call, Done done) {
  const llm::Request& request = *call.request;
  OllamaContext context;
  {
    const std::scoped_lock lock(state_->mutex);
    context = model->context;
  }
  if (std::optional<llm::Failure> failure = too_long(request, context, server_))
    return done(*std::move(failure));
  const int64_t body_bytes = telling_bytes(request.raw);
  llm::Request asked;
  asked.endpoint = request.endpoint;
  asked.inputs.resize(request.inputs.size());
  inner_.submit(
      std::move(call), [state = state_, model, asked = std::move(asked), body_bytes,
                        server = server_, done = std::move(done)](llm::Outcome outcome) mutable {
        auto* answer = std::get_if<llm::Answer>(&outcome);
        if (answer == nullptr) return done(std::move(outcome));
        PromptFate fate = PromptFate::kWhole;
        OllamaContext of_model;
        {
          const std::scoped_lock lock(state->mutex);
          of_model = model->context;
          fate = fate_of(asked, body_bytes, answer->usage.prompt_tokens, of_model, model->ratio);
          if (fate == PromptFate::kWhole) model->ratio.add(body_bytes, answer->usage.prompt_tokens);
          // The model was loaded again, with another context that is not known.
          if (fate == PromptFate::kContextWrong) model->context = {};
        }
        if (fate != PromptFate::kCut) return done(std::move(outcome));
        done(cut_failure(std::move(*answer), model->name, of_model, server));
      });
}

// --- questions ----------------------------------------------------------------------------------

http::ClientRequest OllamaBackend::call(http::Method method, std::string_view path,
                                        const std::string& body) const {
  http::ClientRequest request{.method = method, .url = at_root(options_.base, path)};
  request.headers = options_.headers;
  if (!options_.api_key.empty())
    request.headers.set("Authorization", fmt::format("Bearer {}", options_.api_key));
  if (!body.empty()) {
    request.headers.set("Content-Type", "application/json");
    request.body = std::make_shared<const std::string>(body);
  }
  request.limits.total = kLoadTimeout;
  request.limits.reply_bytes_max = kOllamaReplyBytesMax;
  return request;
}

// A request without a prompt loads a model as the rows will have it, even if it was loaded before
// with another context.
void OllamaBackend::ask(const std::shared_ptr<Model>& model, llm::Endpoint endpoint) {
  const bool embeds = endpoint == llm::Endpoint::kEmbeddings;
  json::object load{{"model", model->there}};
  if (embeds) load["input"] = json::array{};
  model->questions.push_back(
      call(http::Method::kPost, embeds ? "/api/embed" : "/api/generate", json::serialize(load)));
  model->questions.push_back(call(http::Method::kGet, "/api/ps", ""));
  model->questions.push_back(call(http::Method::kPost, "/api/show",
                                  json::serialize(json::object{{"model", model->there}})));
  ask_next(model);
}

void OllamaBackend::ask_next(const std::shared_ptr<Model>& model) {
  size_t next = 0;
  bool closed = false;
  {
    const std::scoped_lock lock(state_->mutex);
    next = model->answers.size();
    closed = state_->closed;
  }
  if (closed || next >= model->questions.size()) return known(model);
  const http::CallId id =
      client_.send(model->questions[next], [this, model](http::ClientResult result) {
        auto* reply = std::get_if<http::ClientReply>(&result);
        const bool good = reply != nullptr && reply->head.status == 200;
        {
          const std::scoped_lock lock(state_->mutex);
          state_->calls.erase(model.get());
          model->answers.push_back(good ? std::move(reply->body) : "");
        }
        ask_next(model);
      });
  {
    const std::scoped_lock lock(state_->mutex);
    // It may have been answered already.
    if (model->answers.size() != next) return;
    state_->calls[model.get()] = id;
    closed = state_->closed;
  }
  // The destructor has begun, and did not see this call.
  if (closed) client_.cancel(id);
}

void OllamaBackend::known(const std::shared_ptr<Model>& model) {
  OllamaContext context;
  bool closed = false;
  {
    const std::scoped_lock lock(state_->mutex);
    closed = state_->closed;
    if (model->answers.size() == model->questions.size())
      context = context_of(model->answers[2], loaded_context(model->answers[1], model->there));
  }
  // Questions that the destructor broke off say nothing about the server.
  if (on_context_ && !closed) on_context_(model->name, context.tokens);
  {
    const std::scoped_lock lock(state_->mutex);
    model->context = context;
    model->known = true;
  }
  for (llm::PendingRequests::Taken& taken : model->pending.take_all()) {
    auto [call, done] = std::move(taken).release();
    forward(model, std::move(call), std::move(done));
  }
  // A copy: the destructor may continue before the lock is released.
  const std::shared_ptr<State> state = state_;
  const std::scoped_lock lock(state->mutex);
  --state->asking;
  state->changed.notify_all();
}

}  // namespace windrow::upstream
