// ToolTable: the tools of a request, as far as readers of calls need them: their names, and the
// types of their parameters. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace windrow::chat {

// The meaning of a value written without quotes.
enum class ValueKind : uint8_t {
  kString,  // the text as it is
  kJson,    // another JSON value
  kEither,  // unknown: a JSON value if the text is one and no string, else the text as it is
};

class ToolTable {
 public:
  // `tools` as in a request. Entries without a name are left out.
  explicit ToolTable(const boost::json::array& tools);

  bool has(std::string_view name) const { return tools_.contains(name); }

  // Whether the name of a tool begins with this.
  bool begins_one(std::string_view begin) const;

  // kEither if the tool or the parameter is unknown.
  ValueKind kind_of(std::string_view name, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, ValueKind, std::less<>>;

  std::map<std::string, Parameters, std::less<>> tools_;
};

// A whole value written without quotes, as JSON. For kJson and kEither, Python's True, False and
// None count as JSON's, because templates write them; text that is no JSON becomes a string.
std::string tagged_value_to_json(std::string_view text, ValueKind kind);

// `text` with the escapes of a JSON string, without the quotes.
std::string in_json_string(std::string_view text);

}  // namespace windrow::chat
