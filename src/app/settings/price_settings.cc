#include "app/settings/price_settings.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <boost/json/error.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string_view>

namespace windrow::app {
namespace {

namespace json = boost::json;

// A price table and a budget count in the same unit.
static_assert(dispatch::kCostUnit == 1'000'000'000);

size_t line_of(std::string_view text, size_t offset) {
  return 1 + static_cast<size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

Result<json::value> parse_json(const std::string& path, std::string_view text) {
  json::stream_parser parser;
  boost::system::error_code not_json;
  const size_t read = parser.write_some(text.data(), text.size(), not_json);
  const bool is_whole = text.find_first_not_of(" \t\r\n", read) == std::string_view::npos;
  if (!not_json && !is_whole) not_json = json::error::extra_data;
  if (!not_json) parser.finish(not_json);
  if (!not_json) return parser.release();
  return Error{ErrorKind::kInvalid,
               fmt::format("{}:{}: this is not JSON: {}; fix it, or give the file a name that ends "
                           "in .toml",
                           path, line_of(text, read), not_json.message())};
}

Result<llm::PriceTable> read_json(const std::string& path, std::string_view text) {
  const Result<json::value> table = parse_json(path, text);
  if (!table) return table.error();
  // JSON does not say where a value stood, but the name of a model is hardly ever there twice.
  return llm::PriceTable::parse(*table, [&](std::string_view model, std::string_view) {
    const size_t found = model.empty() ? std::string_view::npos
                                       : text.find(json::serialize(json::string_view(model)));
    return found == std::string_view::npos ? path
                                           : fmt::format("{}:{}", path, line_of(text, found));
  });
}

Result<llm::PriceTable> read_toml(const std::string& path, std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}:{}: {}; fix the line or remove it", path,
                             parsed.error().source().begin.line, parsed.error().description())};
  }
  const toml::table& table = parsed.table();
  std::ostringstream as_json;
  as_json << toml::json_formatter(table);
  const Result<json::value> value = parse_json(path, as_json.str());
  if (!value) return value.error();
  return llm::PriceTable::parse(*value, [&](std::string_view model, std::string_view member) {
    const toml::node_view<const toml::node> of_model = table[model];
    const toml::node* node = member.empty() ? of_model.node() : of_model[member].node();
    return node == nullptr ? path : fmt::format("{}:{}", path, node->source().begin.line);
  });
}

// More than any job costs.
constexpr double kAmountMax = 1e6;

// "5", "$0.25" (US dollars) as a budget counts them.
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

}  // namespace

Result<llm::PriceTable> read_price_file(store::Disk& disk, const std::string& path) {
  const Result<std::string> text = disk.read_all(path);
  if (!text) {
    return Error{text.error().kind,
                 fmt::format("the prices cannot be read: {}", text.error().message)};
  }
  return path.ends_with(".json") ? read_json(path, *text) : read_toml(path, *text);
}

Result<fleet::Spending> read_spending(const Settings& settings, store::Disk& disk) {
  fleet::Spending spending;
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
