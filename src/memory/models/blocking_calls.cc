#include "memory/models/blocking_calls.h"

#include <fmt/format.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

namespace windrow::memory {
namespace {

llm::Failure wrong_count(size_t got, size_t wanted) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 502,
          .code = "embedding_count",
          .message = fmt::format("the embedding model returned {} vectors for {} texts; check the "
                                 "upstream that serves it",
                                 got, wanted)};
}

// What the waiting thread and those that end parts share. Kept alive by both, because the last
// `done` may still be returning when the waiting thread has gone on.
struct InFlight {
  std::mutex mutex;
  std::condition_variable changed;
  int32_t count = 0;
  std::optional<llm::Failure> failure;
  std::stop_source unwanted;

  void end_part(std::optional<llm::Failure> outcome) {
    bool stop = false;
    {
      const std::scoped_lock lock(mutex);
      stop = outcome && !failure;
      if (stop) failure = std::move(outcome);
    }
    if (stop) unwanted.request_stop();  // may end other parts on this thread, so without the lock
    const std::scoped_lock lock(mutex);
    --count;
    changed.notify_all();
  }
};

}  // namespace

EmbedOutcome embed_and_wait(MemoryModels& models, std::string_view model,
                            std::vector<std::string> texts, const ModelCaller& caller,
                            std::stop_token unwanted) {
  if (texts.empty()) return std::vector<std::vector<float>>();
  const size_t count = texts.size();
  const auto promise = std::make_shared<std::promise<EmbedOutcome>>();
  std::future<EmbedOutcome> future = promise->get_future();
  models.embed(model, std::move(texts), caller, std::move(unwanted),
               [promise](EmbedOutcome outcome) { promise->set_value(std::move(outcome)); });
  EmbedOutcome outcome = future.get();
  const auto* const vectors = std::get_if<std::vector<std::vector<float>>>(&outcome);
  if (vectors != nullptr && vectors->size() != count) return wrong_count(vectors->size(), count);
  return outcome;
}

ChatOutcome chat_and_wait(MemoryModels& models, ChatCall call, std::stop_token unwanted) {
  const auto promise = std::make_shared<std::promise<ChatOutcome>>();
  std::future<ChatOutcome> future = promise->get_future();
  models.chat(std::move(call), std::move(unwanted),
              [promise](ChatOutcome outcome) { promise->set_value(std::move(outcome)); });
  return future.get();
}

std::optional<llm::Failure> do_in_parallel(
    size_t parts, int32_t in_flight_max,
    const std::function<void(size_t part, std::stop_token unwanted,
                             std::function<void(std::optional<llm::Failure>)> done)>& begin,
    const std::stop_token& all_unwanted) {
  const auto shared = std::make_shared<InFlight>();
  const std::stop_callback stop(all_unwanted, [shared] { shared->unwanted.request_stop(); });
  for (size_t part = 0; part < parts; ++part) {
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(
          lock, [&] { return shared->count < in_flight_max || shared->failure.has_value(); });
      if (shared->failure) break;
      ++shared->count;
    }
    begin(part, shared->unwanted.get_token(),
          [shared](std::optional<llm::Failure> failure) { shared->end_part(std::move(failure)); });
  }
  std::unique_lock lock(shared->mutex);
  shared->changed.wait(lock, [&] { return shared->count == 0; });
  return shared->failure;
}

}  // namespace windrow::memory
