#include "program/run/open_calls.h"

#include <fmt/format.h>

#include <utility>

#include "base/ensure.h"
#include "base/format.h"
#include "program/limits.h"

namespace windrow::program {
namespace {

void add(llm::Usage& sum, const llm::Usage& usage) {
  sum.prompt_tokens += usage.prompt_tokens;
  sum.completion_tokens += usage.completion_tokens;
  sum.cached_tokens += usage.cached_tokens;
  sum.reasoning_tokens += usage.reasoning_tokens;
}

}  // namespace

OpenCalls::OpenCalls(uint64_t instance, int64_t tokens_max, PassLog& passes, Trace* trace,
                     const Clock& clock)
    : instance_(instance), tokens_max_(tokens_max), passes_(passes), trace_(trace), clock_(clock) {}

std::variant<uint64_t, llm::Failure> OpenCalls::begin(OpenCall call, int64_t tokens) {
  if (tokens_ + tokens_reserved_ + tokens > tokens_max_) {
    const std::string others =
        tokens_reserved_ > 0
            ? fmt::format(", {} may be by calls that are out", with_thousands(tokens_reserved_))
            : "";
    return llm::Failure{
        .failure_class = llm::FailureClass::kRequest,
        .status = 422,
        .code = std::string(kTokenLimit),
        .message = fmt::format(
            "this call may take {} tokens, {} are used{}, and the program's limit "
            "is {}; ask for less, or raise --program-tokens",
            with_thousands(tokens), with_thousands(tokens_), others, with_thousands(tokens_max_)),
        .param = {}};
  }
  call.tokens_max = tokens;
  call.tag = passes_.begin_call(instance_);
  call.began = clock_.now();
  tokens_reserved_ += tokens;
  ++usage_.calls;
  const uint64_t number = ++given_;
  calls_.emplace(number, std::move(call));
  return number;
}

void OpenCalls::stop(uint64_t call) {
  OpenCall& stopped = calls_.at(call);
  stopped.is_wanted = false;
  // Its Done may come before this returns, and only puts a message into the inbox.
  stopped.stop.request_stop();
}

void OpenCalls::stop_all() {
  for (auto& [number, call] : calls_)
    stop(number);
}

std::optional<OpenCall> OpenCalls::end(uint64_t number, const CallOutcomes& outcome) {
  auto node = calls_.extract(number);
  if (node.empty()) return std::nullopt;
  OpenCall& call = node.mapped();
  tokens_reserved_ -= call.tokens_max;
  const llm::Usage usage =
      std::visit([]<class Outcome>(const Outcome& ended) { return ended.usage; }, outcome);
  const TraceEnd end = !call.is_wanted                                 ? TraceEnd::kCancelled
                       : std::holds_alternative<llm::Failure>(outcome) ? TraceEnd::kFailed
                                                                       : TraceEnd::kDone;
  const PassCounts passes = passes_.end_call(call.tag);
  add(usage_.tokens, usage);
  // A call that was stopped says nothing of what it took; the passes do.
  const bool is_known = usage.prompt_tokens > 0 || usage.completion_tokens > 0;
  const int64_t taken =
      is_known ? int64_t{usage.prompt_tokens} - usage.cached_tokens + usage.completion_tokens
               : passes.tokens;
  tokens_ += taken;
  if (end != TraceEnd::kDone) usage_.wasted_tokens += taken;
  if (trace_ != nullptr) {
    trace_->add({.kind = call.kind,
                 .end = end,
                 .instance = instance_,
                 .stage = call.stage,
                 .task = call.task.value(),
                 .tag = call.tag,
                 .began = call.began,
                 .ended = clock_.now(),
                 .usage = usage,
                 .passes = passes});
  }
  return std::move(call);
}

}  // namespace windrow::program
