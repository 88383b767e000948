// Prices: what tokens cost, by the name of the model. Pure: whoever counts tokens (`windrow
// status`) or is about to spend some (a budget) asks here.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::llm {

// Of one row or of many.
struct TokenCount {
  int64_t prompt = 0;
  int64_t cached = 0;  // of the prompts': those the server had computed before
  int64_t completion = 0;
  int64_t reasoning = 0;  // of the completions', as far as it was told

  TokenCount& operator+=(const TokenCount& other);
  friend bool operator==(const TokenCount&, const TokenCount&) = default;
};

// In US dollars for a million tokens.
struct Price {
  double input_usd = 0;
  double cached_usd = 0;
  double output_usd = 0;

  friend bool operator==(const Price&, const Price&) = default;
};

double cost_usd(const Price& price, const TokenCount& tokens);

// The same in billionths of a dollar, the unit in which a budget counts (dispatch/budget.h),
// rounded up: many roundings must not add up to money that nobody counted. A price counts to a
// millionth of a dollar for a million tokens. At most kCostMax.
int64_t cost_billionths(const Price& price, const TokenCount& tokens);

// What a request may cost at most, before it is sent: nothing of its prompt is cached, or, where
// that is the dearer price, all of it.
int64_t cost_billionths_at_most(const Price& price, int64_t prompt_tokens,
                                int64_t completion_tokens_max);

// A million dollars: no row costs as much, and sums of it stay in range.
inline constexpr int64_t kCostMax = 1'000'000'000'000'000;

class PriceTable {
 public:
  // {"MODEL": {"input": 0.15, "cached": 0.075, "output": 0.6}, ...}; cached is the same as input
  // where it is not given. A name that ends in * stands for all that begin like it. kInvalid, with
  // the place, the model and the member. Messages begin with what `place_of` says: of the model
  // where `member` is empty, of the table where both are.
  using PlaceOf = std::function<std::string(std::string_view model, std::string_view member)>;
  static Result<PriceTable> parse(const boost::json::value& table, const PlaceOf& place_of);

  // The price of the model's own name, else that of the longest beginning; nullptr for none.
  const Price* find(std::string_view model) const;

  // cost_billionths by the name of the model; nothing for one without a price.
  std::optional<int64_t> cost(std::string_view model, const TokenCount& tokens) const;
  std::optional<int64_t> cost_at_most(std::string_view model, int64_t prompt_tokens,
                                      int64_t completion_tokens_max) const;

  size_t size() const { return exact_.size() + beginnings_.size(); }

 private:
  std::map<std::string, Price, std::less<>> exact_;
  std::map<std::string, Price, std::less<>> beginnings_;  // without their *
};

}  // namespace windrow::llm
