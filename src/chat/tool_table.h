// ToolTable: the tools of a request, as far as whoever reads calls has to know them. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace windrow::chat {

// What a value written without quotes stands for.
enum class ValueKind : uint8_t {
  kString,  // the text as it is
  kJson,    // another JSON value
  kEither,  // not known: JSON where the text is any that is no string, else the text
};

class ToolTable {
 public:
  // As requests have them; what has no name is left out.
  explicit ToolTable(const boost::json::array& tools);

  bool has(std::string_view name) const { return tools_.contains(name); }

  // Whether a tool's name begins with this.
  bool begins_one(std::string_view begin) const;

  ValueKind kind_of(std::string_view name, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, ValueKind, std::less<>>;

  std::map<std::string, Parameters, std::less<>> tools_;
};

}  // namespace windrow::chat
