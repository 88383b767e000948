// Prices: the cost of tokens, by the name of the model, for `windrow status` and for budgets. Pure;
// any thread.
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

// Tokens of one row or of many.
struct TokenCount {
  int64_t prompt = 0;
  int64_t cached = 0;  // part of prompt: those in the server's prefix cache
  int64_t completion = 0;
  int64_t reasoning = 0;  // part of completion, as far as it is known

  TokenCount& operator+=(const TokenCount& other);
  friend bool operator==(const TokenCount&, const TokenCount&) = default;
};

// In US dollars per million tokens.
struct Price {
  double input_usd = 0;
  double cached_usd = 0;
  double output_usd = 0;

  friend bool operator==(const Price&, const Price&) = default;
};

double cost_usd(const Price& price, const TokenCount& tokens);

// The same in billionths of a dollar, the unit of a budget (dispatch/budget.h), rounded up, so that
// many roundings never add up to uncounted money. A price counts to a millionth of a dollar per
// million tokens. At most kCostMax.
int64_t cost_billionths(const Price& price, const TokenCount& tokens);

// An upper bound for the cost of a request before it is sent: none of its prompt is cached, or all
// of it if that costs more.
int64_t cost_billionths_at_most(const Price& price, int64_t prompt_tokens,
                                int64_t completion_tokens_max);

// A million dollars: more than any row costs, and sums of it stay in range.
inline constexpr int64_t kCostMax = 1'000'000'000'000'000;

class PriceTable {
 public:
  // Parses {"MODEL": {"input": 0.15, "cached": 0.075, "output": 0.6}, ...}; cached defaults to
  // input. A name that ends in * is a prefix. kInvalid, with the place, the model and the member.
  // Messages begin with the result of `place_of`, called with an empty `member` for a model, and
  // with both empty for the table.
  using PlaceOf = std::function<std::string(std::string_view model, std::string_view member)>;
  static Result<PriceTable> parse(const boost::json::value& table, const PlaceOf& place_of);

  // The price of the model's name, else that of the longest prefix; nullptr if there is none.
  const Price* find(std::string_view model) const;

  // cost_billionths by the name of the model; nothing for a model without a price.
  std::optional<int64_t> cost(std::string_view model, const TokenCount& tokens) const;
  std::optional<int64_t> cost_at_most(std::string_view model, int64_t prompt_tokens,
                                      int64_t completion_tokens_max) const;

  size_t size() const { return exact_.size() + beginnings_.size(); }

 private:
  std::map<std::string, Price, std::less<>> exact_;
  std::map<std::string, Price, std::less<>> beginnings_;  // prefixes, without their *
};

}  // namespace windrow::llm
