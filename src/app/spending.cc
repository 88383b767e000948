#include "app/spending.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/price_file.h"

namespace windrow::app {
namespace {

constexpr int64_t kBytesPerToken = 4;

// More than any job: a million dollars.
constexpr double kAmountMax = 1e6;

// Nothing of a prompt is shorter than its bytes say, as far as a budget is concerned.
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
                             "--max-cost sends nothing of which it does not know the cost; add it "
                             "to the table",
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

Result<dispatch::Cost> parse_amount(std::string_view text, std::string_view place) {
  const std::string_view digits = text.starts_with('$') ? text.substr(1) : text;
  double amount = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || !(amount > 0) || amount > kAmountMax) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: {} is no amount of US dollars; write a number such as 5 or 0.25",
                             place, text.empty() ? "nothing" : text)};
  }
  return static_cast<dispatch::Cost>(std::llround(amount * dispatch::kCostUnit));
}

Result<Spending> read_spending(const Settings& settings, store::Disk& disk) {
  Spending spending;
  if (!settings.prices.empty()) {
    Result<llm::PriceTable> prices = read_price_file(disk, settings.prices);
    if (!prices) return prices.error().in("--prices");
    spending.prices = *std::move(prices);
  }
  if (settings.cost_max.empty()) return spending;
  const Result<dispatch::Cost> amount = parse_amount(settings.cost_max, "--max-cost");
  if (!amount) return amount.error();
  if (!spending.prices) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--max-cost {}: what tokens cost is not known; name a table with "
                             "--prices FILE (docs/formats.md has its form)",
                             settings.cost_max)};
  }
  spending.cost_max = *amount;
  return spending;
}

std::string dollars(dispatch::Cost cost) {
  const double amount = static_cast<double>(cost) / dispatch::kCostUnit;
  if (amount >= 0.01 || amount == 0) return fmt::format("${:.2f}", amount);
  return fmt::format("${:.2g}", amount);
}

}  // namespace windrow::app
