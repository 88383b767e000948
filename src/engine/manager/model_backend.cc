#include "engine/manager/model_backend.h"

#include <algorithm>
#include <utility>

#include "engine/host/row_failures.h"

namespace windrow::engine {
namespace {

bool generates(llm::Endpoint endpoint) {
  return endpoint == llm::Endpoint::kChatCompletions || endpoint == llm::Endpoint::kCompletions;
}

// No request of this kind can be answered: that ends a job rather than its rows one by one.
llm::Failure not_opened(const Error& error) {
  return {.failure_class = llm::FailureClass::kBackend,
          .status = 503,
          .code = "backend_unavailable",
          .message = error.message,
          .param = {}};
}

// Opens what is not open yet. Two locks, so that statistics are read while a context is made.
template <class B>
std::variant<B*, llm::Failure> open_once(std::mutex& opening, std::mutex& mutex,
                                         std::unique_ptr<B>& backend,
                                         const std::function<Result<std::unique_ptr<B>>()>& open) {
  const auto find = [&] {
    const std::scoped_lock lock(mutex);
    return backend.get();
  };
  // A request for the one does not wait for the other to be opened.
  if (B* open_already = find()) return open_already;
  const std::scoped_lock one_at_a_time(opening);
  if (B* open_by_now = find()) return open_by_now;
  Result<std::unique_ptr<B>> opened = open();
  if (!opened) return not_opened(opened.error());
  const std::scoped_lock lock(mutex);
  backend = *std::move(opened);
  return backend.get();
}

}  // namespace

ModelBackend::ModelBackend(ModelKinds kinds)
    : kinds_(std::move(kinds)), pending_generation_(cancelled()), pending_embedding_(cancelled()) {}
ModelBackend::~ModelBackend() = default;

std::variant<GenerationBackend*, llm::Failure> ModelBackend::generation() {
  if (!kinds_.no_generation.empty()) {
    return llm::Failure{
        .code = "unsupported_by_model", .message = kinds_.no_generation, .param = "model"};
  }
  auto opened = open_once(opening_, mutex_, generation_, kinds_.generation);
  if (auto* const* backend = std::get_if<GenerationBackend*>(&opened)) {
    EarlyHolds early;
    {
      const std::scoped_lock lock(mutex_);
      early = std::exchange(early_holds_, {});
    }
    early.start([&](std::vector<Token> tokens) { return (*backend)->hold(std::move(tokens)); });
  }
  return opened;
}

std::variant<EmbeddingBackend*, llm::Failure> ModelBackend::embedding() {
  return open_once(opening_, mutex_, embedding_, kinds_.embedding);
}

std::variant<llm::Backend*, llm::Failure> ModelBackend::backend_for(llm::Endpoint endpoint) {
  const auto widen = [](auto opened) -> std::variant<llm::Backend*, llm::Failure> {
    if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
    return std::get<0>(opened);
  };
  return generates(endpoint) ? widen(generation()) : widen(embedding());
}

std::variant<MeasuredPrompts, llm::Failure> ModelBackend::measure(const llm::Request& request) {
  if (!generates(request.endpoint)) {
    auto opened = embedding();
    if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
    auto inputs = std::get<EmbeddingBackend*>(opened)->input_tokens(request);
    if (auto* failure = std::get_if<llm::Failure>(&inputs)) return std::move(*failure);
    return MeasuredPrompts{.prompts = std::get<EmbeddingBackend::Inputs>(std::move(inputs))};
  }
  auto opened = generation();
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  GenerationBackend& backend = *std::get<GenerationBackend*>(opened);
  auto prompts = backend.prompts(request);
  if (auto* failure = std::get_if<llm::Failure>(&prompts)) return std::move(*failure);
  if (std::optional<llm::Failure> fault = backend.structure_fault(request))
    return *std::move(fault);
  MeasuredPrompts measured{.prompts = std::get<Prompts>(std::move(prompts)).tokens};
  for (const std::vector<Token>& prompt : measured.prompts) {
    measured.output_tokens_max +=
        int64_t{request.choices} * backend.output_tokens_max(request, prompt.size());
  }
  return measured;
}

std::optional<llm::Failure> ModelBackend::prepare(llm::Endpoint endpoint) {
  auto opened = backend_for(endpoint);
  if (auto* failure = std::get_if<llm::Failure>(&opened)) return std::move(*failure);
  return std::nullopt;
}

OpenKinds ModelBackend::open_kinds() const {
  const std::scoped_lock lock(mutex_);
  OpenKinds open;
  if (generation_ != nullptr) open.generation = generation_->limits();
  if (embedding_ != nullptr) open.embedding = embedding_->limits();
  return open;
}

llm::Backend* ModelBackend::find_open(llm::Endpoint endpoint) const {
  if (generates(endpoint)) return generation_.get();
  return embedding_.get();
}

std::shared_ptr<const llm::ReadAhead> ModelBackend::read_ahead(const llm::Request& request) {
  llm::Backend* open = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    open = find_open(request.endpoint);
  }
  return open != nullptr ? open->read_ahead(request) : nullptr;
}

llm::PendingRequests& ModelBackend::pending_for(llm::Endpoint endpoint) {
  return generates(endpoint) ? pending_generation_ : pending_embedding_;
}

// False: the call can go on at once.
bool ModelBackend::wait_aside(llm::BackendCall& call, Done& done) {
  const llm::Endpoint endpoint = call.request->endpoint;
  if (!kinds_.open_aside || (generates(endpoint) && !kinds_.no_generation.empty())) return false;
  llm::PendingRequests& pending = pending_for(endpoint);
  llm::PendingId id;
  {
    // What is opened is found here before the pending calls are taken out: none is left behind.
    const std::scoped_lock lock(mutex_);
    if (find_open(endpoint) != nullptr) return false;
    id = pending.add(std::move(call), std::move(done));
    if (pending.size() == 1) openers_.post([this, endpoint] { open_for_pending(endpoint); });
  }
  pending.watch(id);
  return true;
}

void ModelBackend::open_for_pending(llm::Endpoint endpoint) {
  const auto opened = backend_for(endpoint);
  for (llm::PendingRequests::Taken& taken : pending_for(endpoint).take_all()) {
    if (const auto* failure = std::get_if<llm::Failure>(&opened)) {
      std::move(taken).end(*failure);
      continue;
    }
    auto [call, done] = std::move(taken).release();
    std::get<llm::Backend*>(opened)->submit(std::move(call), std::move(done));
  }
}

std::variant<int64_t, llm::Failure> ModelBackend::count_prompt(const llm::Request& request) {
  auto backend = backend_for(request.endpoint);
  if (auto* failure = std::get_if<llm::Failure>(&backend)) return std::move(*failure);
  return std::get<llm::Backend*>(backend)->count_prompt(request);
}

void ModelBackend::submit(llm::BackendCall call, Done done) {
  if (call.is_cancelled()) {
    done(cancelled());
    return;
  }
  if (wait_aside(call, done)) return;
  auto backend = backend_for(call.request->endpoint);
  if (auto* failure = std::get_if<llm::Failure>(&backend)) {
    done(std::move(*failure));
    return;
  }
  std::get<llm::Backend*>(backend)->submit(std::move(call), std::move(done));
}

// Once open, a backend stays until the end: what is listed here may be used without the lock.
std::vector<llm::Backend*> ModelBackend::open_backends() const {
  const std::scoped_lock lock(mutex_);
  std::vector<llm::Backend*> open;
  if (generation_ != nullptr) open.push_back(generation_.get());
  if (embedding_ != nullptr) open.push_back(embedding_.get());
  return open;
}

std::unique_ptr<llm::PrefixHold> ModelBackend::hold(std::vector<Token> tokens) {
  GenerationBackend* open = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    open = generation_.get();
    if (open == nullptr) return early_holds_.hold(std::move(tokens));
  }
  return open->hold(std::move(tokens));
}

int32_t ModelBackend::in_flight_target() const {
  int32_t target = 1;
  for (const llm::Backend* backend : open_backends())
    target = std::max(target, backend->in_flight_target());
  return target;
}

llm::BackendStats ModelBackend::stats() const {
  llm::BackendStats sum;
  for (const llm::Backend* backend : open_backends())
    sum += backend->stats();
  sum.rows_waiting += static_cast<int32_t>(pending_generation_.size() + pending_embedding_.size());
  return sum;
}

}  // namespace windrow::engine
