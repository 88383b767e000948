#include "llm/prices.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <cmath>
#include <optional>

namespace windrow::llm {
namespace {

namespace json = boost::json;

constexpr double kPriceTokens = 1e6;

Error unusable(const std::string& path, std::string_view model, std::string_view why) {
  return Error{ErrorKind::kInvalid,
               fmt::format("{}: {}: {}; a model has the members input, cached and output, in US "
                           "dollars for a million tokens",
                           path, model, why)};
}

Result<Price> read_price(const json::value& value, const std::string& path,
                         std::string_view model) {
  const json::object* object = value.if_object();
  if (object == nullptr) return unusable(path, model, "it has no members");
  std::optional<double> input;
  std::optional<double> cached;
  std::optional<double> output;
  for (const auto& [key, member] : *object) {
    const std::string_view name = key;
    std::optional<double>* const place = name == "input"    ? &input
                                         : name == "cached" ? &cached
                                         : name == "output" ? &output
                                                            : nullptr;
    if (place == nullptr) return unusable(path, model, fmt::format("{} is none of them", name));
    boost::system::error_code no_number;
    const auto usd = member.to_number<double>(no_number);
    if (no_number || !std::isfinite(usd) || usd < 0) {
      return unusable(path, model, fmt::format("{} must be a number from 0", name));
    }
    *place = usd;
  }
  // A price that is forgotten would be a job that is free.
  if (!input) return unusable(path, model, "input is missing");
  if (!output) return unusable(path, model, "output is missing (0 for embeddings)");
  return Price{.input_usd = *input, .cached_usd = cached.value_or(*input), .output_usd = *output};
}

}  // namespace

TokenCount& TokenCount::operator+=(const TokenCount& other) {
  prompt += other.prompt;
  cached += other.cached;
  completion += other.completion;
  return *this;
}

double cost_usd(const Price& price, const TokenCount& tokens) {
  const auto fresh = static_cast<double>(tokens.prompt - tokens.cached);
  return (fresh * price.input_usd + static_cast<double>(tokens.cached) * price.cached_usd +
          static_cast<double>(tokens.completion) * price.output_usd) /
         kPriceTokens;
}

Result<PriceTable> PriceTable::parse(const json::value& table, const std::string& path) {
  const json::object* object = table.if_object();
  if (object == nullptr || object->empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} has no prices; write, for each model, [\"MODEL\"] on a line and "
                             "input = 0.15 and output = 0.6 below it",
                             path)};
  }
  PriceTable prices;
  for (const auto& [key, value] : *object) {
    std::string model(key);
    const Result<Price> price = read_price(value, path, model);
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

}  // namespace windrow::llm
