#include "fleet/spending.h"

#include <fmt/format.h>

#include <algorithm>

namespace windrow::fleet {
namespace {

constexpr int64_t kBytesPerToken = 4;

// An estimate: a token has about four bytes.
int64_t prompt_tokens_of(const llm::Request& request) {
  return static_cast<int64_t>(request.raw.size()) / kBytesPerToken + 1;
}

}  // namespace

std::variant<dispatch::Cost, llm::Failure> Spending::expected(const llm::Request& request) const {
  if (!prices || cost_max == 0) return dispatch::Cost{0};
  if (prices->find(request.model) != nullptr) return at_most(request);
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 402,
      .code = "no_price",
      .message = fmt::format("the model \"{}\" has no price in the table of --prices, and "
                             "--max-cost sends no request of unknown cost; add the model to the "
                             "table",
                             request.model),
      .param = "model"};
}

int64_t Spending::answer_tokens_at_most(const llm::Request& request) {
  const bool generates = request.endpoint == llm::Endpoint::kChatCompletions ||
                         request.endpoint == llm::Endpoint::kCompletions;
  if (!generates) return 0;
  const int64_t each = request.output_tokens_max.value_or(kUnlimitedAnswerTokens);
  return each * std::max(request.choices, 1);
}

dispatch::Cost Spending::at_most(const llm::Request& request) const {
  if (!prices) return 0;
  return prices
      ->cost_at_most(request.model, prompt_tokens_of(request), answer_tokens_at_most(request))
      .value_or(0);
}

dispatch::Cost Spending::of(const llm::Request& request, const llm::Usage& usage) const {
  if (!prices) return 0;
  return prices
      ->cost(request.model, {.prompt = usage.prompt_tokens,
                             .cached = usage.cached_tokens,
                             .completion = usage.completion_tokens})
      .value_or(0);
}

}  // namespace windrow::fleet
