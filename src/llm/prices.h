// Prices: what tokens cost, by the name of the model. Pure: whoever counts tokens (`windrow
// status`) or is about to spend some (a budget) asks here.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::llm {

// Of one row or of many.
struct TokenCount {
  int64_t prompt = 0;
  int64_t cached = 0;  // of the prompts': those the server had computed before
  int64_t completion = 0;

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

class PriceTable {
 public:
  // {"MODEL": {"input": 0.15, "cached": 0.075, "output": 0.6}, ...}; cached is the same as input
  // where it is not given. A name that ends in * stands for all that begin like it. kInvalid, with
  // the model and the member; `path` is what messages call the table.
  static Result<PriceTable> parse(const boost::json::value& table, const std::string& path);

  // The price of the model's own name, else that of the longest beginning; nullptr for none.
  const Price* find(std::string_view model) const;

  size_t size() const { return exact_.size() + beginnings_.size(); }

 private:
  std::map<std::string, Price, std::less<>> exact_;
  std::map<std::string, Price, std::less<>> beginnings_;  // without their *
};

}  // namespace windrow::llm
