// Spending: what requests to upstream servers cost, and how much may be spent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "dispatch/budget.h"
#include "llm/answer.h"
#include "llm/prices.h"
#include "llm/request.h"

namespace windrow::fleet {

// A request that sets no limit to its answer is counted as if it were this long.
inline constexpr int64_t kUnlimitedAnswerTokens = 4096;

// Immutable; any thread.
struct Spending {
  std::optional<llm::PriceTable> prices;  // absent: costs are unknown, and nothing is counted
  dispatch::Cost cost_max = 0;            // 0: no limit

  // The highest cost of a request. A Failure where there is a limit and the model has no price.
  std::variant<dispatch::Cost, llm::Failure> expected(const llm::Request& request) const;

  // The same without regard to the limit; 0 for a model without a price.
  dispatch::Cost at_most(const llm::Request& request) const;
  static int64_t answer_tokens_at_most(const llm::Request& request);

  // The cost of an answered request; 0 for a model without a price.
  dispatch::Cost of(const llm::Request& request, const llm::Usage& usage) const;
};

}  // namespace windrow::fleet
