#include "engine/model_backend.h"

#include <algorithm>
#include <utility>

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
  const std::scoped_lock one_at_a_time(opening);
  {
    const std::scoped_lock lock(mutex);
    if (backend != nullptr) return backend.get();
  }
  Result<std::unique_ptr<B>> opened = open();
  if (!opened) return not_opened(opened.error());
  const std::scoped_lock lock(mutex);
  backend = *std::move(opened);
  return backend.get();
}

}  // namespace

ModelBackend::ModelBackend(ModelKinds kinds) : kinds_(std::move(kinds)) {}
ModelBackend::~ModelBackend() = default;

std::variant<GenerationBackend*, llm::Failure> ModelBackend::generation() {
  if (!kinds_.no_generation.empty()) {
    return llm::Failure{
        .code = "unsupported_by_model", .message = kinds_.no_generation, .param = "model"};
  }
  return open_once(opening_, mutex_, generation_, kinds_.generation);
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

int32_t ModelBackend::request_tokens_max() const {
  const std::scoped_lock lock(mutex_);
  if (generation_ != nullptr) return generation_->limits().row_tokens_max;
  if (embedding_ != nullptr) return embedding_->limits().input_tokens_max;
  return 0;
}

OpenKinds ModelBackend::open_kinds() const {
  const std::scoped_lock lock(mutex_);
  OpenKinds open;
  if (generation_ != nullptr) open.generation = generation_->limits();
  if (embedding_ != nullptr) open.embedding = embedding_->limits();
  return open;
}

void ModelBackend::read_ahead(llm::Request& request) {
  auto backend = backend_for(request.endpoint);
  if (auto* found = std::get_if<llm::Backend*>(&backend)) (*found)->read_ahead(request);
}

std::variant<int64_t, llm::Failure> ModelBackend::count_prompt(const llm::Request& request) {
  auto backend = backend_for(request.endpoint);
  if (auto* failure = std::get_if<llm::Failure>(&backend)) return std::move(*failure);
  return std::get<llm::Backend*>(backend)->count_prompt(request);
}

void ModelBackend::submit(llm::Request request, Done done) {
  auto backend = backend_for(request.endpoint);
  if (auto* failure = std::get_if<llm::Failure>(&backend)) {
    done(std::move(*failure));
    return;
  }
  std::get<llm::Backend*>(backend)->submit(std::move(request), std::move(done));
}

// Once open, a backend stays until the end: what is listed here may be used without the lock.
std::vector<llm::Backend*> ModelBackend::open_backends() const {
  const std::scoped_lock lock(mutex_);
  std::vector<llm::Backend*> open;
  if (generation_ != nullptr) open.push_back(generation_.get());
  if (embedding_ != nullptr) open.push_back(embedding_.get());
  return open;
}

void ModelBackend::cancel_waiting() {
  for (llm::Backend* backend : open_backends())
    backend->cancel_waiting();
}

void ModelBackend::cancel_all() {
  for (llm::Backend* backend : open_backends())
    backend->cancel_all();
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
  return sum;
}

}  // namespace windrow::engine
