// What a run may spend: --max-cost by the table of --prices.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "app/settings.h"
#include "base/result.h"
#include "dispatch/budget.h"
#include "llm/answer.h"
#include "llm/prices.h"
#include "llm/request.h"
#include "store/disk.h"

namespace windrow::app {

struct Spending {
  std::optional<llm::PriceTable> prices;  // absent: nothing is counted
  dispatch::Cost cost_max = 0;            // 0: no limit

  // What a request costs at most; a Failure where there is a limit and its model has no price. A
  // row that sets no limit to its answer is counted as if it were kUnlimitedAnswerTokens long.
  std::variant<dispatch::Cost, llm::Failure> expected(const llm::Request& request) const;

  // The same without a limit; 0 for a model without a price.
  dispatch::Cost at_most(const llm::Request& request) const;
  static int64_t answer_tokens_at_most(const llm::Request& request);

  // What it did cost; 0 for a model without a price.
  dispatch::Cost of(const llm::Request& request, const llm::Usage& usage) const;
};

inline constexpr int64_t kUnlimitedAnswerTokens = 4096;

// kInvalid for an amount that is none, or a limit without prices; errors of the file.
Result<Spending> read_spending(const Settings& settings, store::Disk& disk);

// "5", "0.25" (US dollars) as a budget counts them.
Result<dispatch::Cost> parse_amount(std::string_view text, std::string_view place);

// "$4.98"; "$0.00031".
std::string dollars(dispatch::Cost cost);

}  // namespace windrow::app
