#include "llm/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cmath>

namespace windrow::llm {
namespace {

namespace json = boost::json;

constexpr double kPriceTokens = 1e6;
constexpr double kUnitsPerBillionth = 1000;

// Far above any price there is.
constexpr double kUsdMax = 1e9;

// The cost of a token, as a whole number of thousandths of a billionth of a dollar. Their products
// with tokens are exact in a double up to nine thousand dollars.
double token_units(double usd) {
  return std::round(usd * 1e6);
}

Error unusable(const PriceTable::PlaceOf& place_of, std::string_view model, std::string_view member,
               std::string_view why) {
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: {}: {}; a model has the members input, cached and output, in US "
                           "dollars for a million tokens",
                           place_of(model, member), model, why)};
}

Result<Price> read_price(const json::value& value, std::string_view model,
                         const PriceTable::PlaceOf& place_of) {
  const json::object* object = value.if_object();
  if (object == nullptr) return unusable(place_of, model, "", "it has no members");
  std::optional<double> input;
  std::optional<double> cached;
  std::optional<double> output;
  for (const auto& [key, member] : *object) {
    const std::string_view name = key;
    std::optional<double>* const place = name == "input"    ? &input
                                         : name == "cached" ? &cached
                                         : name == "output" ? &output
                                                            : nullptr;
    if (place == nullptr) {
      // TOML takes [m-1.5] for a table 5 in a table m-1.
      return unusable(
          place_of, model, name,
          fmt::format(
              "{} is none of them{}", name,
              member.is_object() ? "; a model's name with a point in it stands in quotes" : ""));
    }
    boost::system::error_code no_number;
    const auto usd = member.to_number<double>(no_number);
    if (no_number || !std::isfinite(usd) || usd < 0 || usd > kUsdMax) {
      return unusable(place_of, model, name,
                      fmt::format("{} must be a number from 0 to {}", name, kUsdMax));
    }
    *place = usd;
  }
  // A price that is forgotten would be a job that is free.
  if (!input) return unusable(place_of, model, "", "input is missing");
  if (!output) return unusable(place_of, model, "", "output is missing (0 for embeddings)");
  return Price{.input_usd = *input, .cached_usd = cached.value_or(*input), .output_usd = *output};
}

}  // namespace

TokenCount& TokenCount::operator+=(const TokenCount& other) {
  prompt += other.prompt;
  cached += other.cached;
  completion += other.completion;
  reasoning += other.reasoning;
  return *this;
}

double cost_usd(const Price& price, const TokenCount& tokens) {
  const auto fresh = static_cast<double>(tokens.prompt - tokens.cached);
  return (fresh * price.input_usd + static_cast<double>(tokens.cached) * price.cached_usd +
          static_cast<double>(tokens.completion) * price.output_usd) /
         kPriceTokens;
}

int64_t cost_billionths(const Price& price, const TokenCount& tokens) {
  const int64_t prompt = std::max<int64_t>(tokens.prompt, 0);
  const int64_t cached = std::clamp<int64_t>(tokens.cached, 0, prompt);
  const double units =
      static_cast<double>(prompt - cached) * token_units(price.input_usd) +
      static_cast<double>(cached) * token_units(price.cached_usd) +
      static_cast<double>(std::max<int64_t>(tokens.completion, 0)) * token_units(price.output_usd);
  const double billionths = std::ceil(units / kUnitsPerBillionth);
  return billionths < static_cast<double>(kCostMax) ? static_cast<int64_t>(billionths) : kCostMax;
}

int64_t cost_billionths_at_most(const Price& price, int64_t prompt_tokens,
                                int64_t completion_tokens_max) {
  return cost_billionths(Price{.input_usd = std::max(price.input_usd, price.cached_usd),
                               .output_usd = price.output_usd},
                         TokenCount{.prompt = prompt_tokens, .completion = completion_tokens_max});
}

Result<PriceTable> PriceTable::parse(const json::value& table, const PlaceOf& place_of) {
  const json::object* object = table.if_object();
  if (object == nullptr || object->empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} has no prices; write, for each model, [\"MODEL\"] on a line and "
                             "input = 0.15 and output = 0.6 below it",
                             place_of("", ""))};
  }
  PriceTable prices;
  for (const auto& [key, value] : *object) {
    std::string model(key);
    const Result<Price> price = read_price(value, model, place_of);
    if (!price) return price.error();
    if (model.ends_with('*')) {
      model.pop_back();
      prices.beginnings_[model] = *price;
    } else {
      prices.exact_[model] = *price;
    }
  }
  return prices;
}

const Price* PriceTable::find(std::string_view model) const {
  if (const auto found = exact_.find(model); found != exact_.end()) return &found->second;
  const Price* best = nullptr;
  size_t best_size = 0;
  for (const auto& [beginning, price] : beginnings_) {
    if (!model.starts_with(beginning) || (best != nullptr && beginning.size() < best_size))
      continue;
    best = &price;
    best_size = beginning.size();
  }
  return best;
}

std::optional<int64_t> PriceTable::cost(std::string_view model, const TokenCount& tokens) const {
  const Price* price = find(model);
  return price == nullptr ? std::nullopt : std::optional(cost_billionths(*price, tokens));
}

std::optional<int64_t> PriceTable::cost_at_most(std::string_view model, int64_t prompt_tokens,
                                                int64_t completion_tokens_max) const {
  const Price* price = find(model);
  if (price == nullptr) return std::nullopt;
  return cost_billionths_at_most(*price, prompt_tokens, completion_tokens_max);
}

}  // namespace windrow::llm
