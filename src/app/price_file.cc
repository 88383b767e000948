#include "app/price_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <fmt/format.h>
#include <toml++/toml.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <sstream>
#include <string_view>

namespace windrow::app {
namespace {

namespace json = boost::json;

Result<json::value> read_json(const std::string& path, std::string_view text) {
  boost::system::error_code not_json;
  json::value value = json::parse(text, not_json);
  if (!not_json) return value;
  return Error{ErrorKind::kInvalid,
               fmt::format("{} is not JSON: {}; mend it, or give it a name that ends in .toml",
                           path, not_json.message())};
}

Result<json::value> read_toml(const std::string& path, std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}:{}: {}; mend the line or remove it", path,
                             parsed.error().source().begin.line, parsed.error().description())};
  }
  std::ostringstream as_json;
  as_json << toml::json_formatter(parsed.table());
  return read_json(path, as_json.str());
}

}  // namespace

Result<llm::PriceTable> read_price_file(store::Disk& disk, const std::string& path) {
  const Result<std::string> text = disk.read_all(path);
  if (!text) {
    return Error{text.error().kind,
                 fmt::format("the prices cannot be read: {}", text.error().message)};
  }
  const Result<json::value> table =
      path.ends_with(".json") ? read_json(path, *text) : read_toml(path, *text);
  if (!table) return table.error();
  return llm::PriceTable::parse(*table, path);
}

}  // namespace windrow::app
