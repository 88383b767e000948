#include "dispatch/open_call.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "llm/packed_inputs.h"

namespace windrow::dispatch {
namespace {

// A prompt token costs a server about so much of what an answer's token does.
constexpr double kPromptWork = 1.0 / 16;

constexpr int32_t kRequestTimeout = 408;
constexpr int32_t kGatewayTimeout = 504;
constexpr int32_t kTooLarge = 413;

int32_t prefilled(const llm::Usage& usage) {
  return std::max(usage.prompt_tokens - usage.cached_tokens, 0);
}

double work_of(const llm::Usage& usage) {
  return std::max(usage.completion_tokens + kPromptWork * prefilled(usage), 1.0);
}

// A server elsewhere may say nothing.
std::optional<int64_t> computed_by(const llm::Usage& usage) {
  if (usage.prompt_tokens == 0 && usage.completion_tokens == 0) return std::nullopt;
  return int64_t{usage.completion_tokens} + prefilled(usage);
}

bool timed_out(const llm::Failure& failure) {
  return failure.status == kRequestTimeout || failure.status == kGatewayTimeout;
}

Fault fault_of(const llm::Failure& failure) {
  switch (failure.failure_class) {
    case llm::FailureClass::kTransient:
      if (failure.short_of_files) return Fault::kShortOfFiles;
      if (failure.unreached) return Fault::kUnreached;
      // Late answers are a sign of load too, but a row that is always late must end.
      return failure.overloaded && !timed_out(failure) ? Fault::kOverloaded : Fault::kTransient;
    case llm::FailureClass::kCancelled:
      return Fault::kCancelled;
    case llm::FailureClass::kBackend:
      return Fault::kBackend;
    case llm::FailureClass::kRequest:
      break;
  }
  return Fault::kRequest;
}

}  // namespace

CallEnd call_end_of(const llm::Outcome& outcome) {
  if (const auto* failure = std::get_if<llm::Failure>(&outcome)) {
    CallEnd end{.fault = fault_of(*failure),
                .timed_out = timed_out(*failure),
                .too_large = failure->status == kTooLarge};
    if (failure->retry_after_ms) {
      end.retry_after = std::chrono::milliseconds(*failure->retry_after_ms);
    }
    end.tokens = int64_t{failure->usage.prompt_tokens} + failure->usage.completion_tokens;
    end.computed = computed_by(failure->usage);
    end.replied = failure->replied && !end.timed_out;
    end.answered = failure->answered && end.fault == Fault::kTransient;
    if (end.answered) end.work = work_of(failure->usage);
    return end;
  }
  const llm::Usage& usage = std::get<llm::Answer>(outcome).usage;
  return {.tokens = int64_t{usage.prompt_tokens} + usage.completion_tokens,
          .computed = computed_by(usage),
          .work = work_of(usage)};
}

const llm::Usage& usage_of(const llm::Outcome& outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  return answer ? answer->usage : std::get<llm::Failure>(outcome).usage;
}

std::shared_ptr<const llm::Request> OpenCall::pack() {
  if (requests.size() == 1) return requests.front();
  std::vector<const llm::Request*> all;
  all.reserve(requests.size());
  for (const auto& request : requests)
    all.push_back(request.get());
  llm::PackedRequest packed = llm::pack_requests(all);
  sizes = std::move(packed.sizes);
  return std::make_shared<const llm::Request>(std::move(packed.request));
}

std::vector<llm::Outcome> OpenCall::unpack(llm::Outcome outcome, CallEnd& end) const {
  std::vector<llm::Outcome> outcomes;
  if (requests.size() == 1) {
    outcomes.push_back(std::move(outcome));
    return outcomes;
  }
  outcomes = llm::unpack_outcome(std::move(outcome), sizes);
  if (!end.fault && std::holds_alternative<llm::Failure>(outcomes.front())) {
    end.fault = Fault::kRequest;
    end.unmatched = true;
  }
  return outcomes;
}

}  // namespace windrow::dispatch
