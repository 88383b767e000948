#include "upstream/structure.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/utf8.h"

namespace windrow::upstream {
namespace {

namespace json = boost::json;

constexpr size_t kQuoteBytesMax = 80;

const json::value* member(const json::value* value, std::string_view name) {
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

// The text of a choice that ended by itself.
const json::string* whole_content(const json::value& choice) {
  const json::value* reason = member(&choice, "finish_reason");
  if (reason == nullptr || !reason->is_string() || reason->get_string() != "stop") return nullptr;
  const json::value* content = member(member(&choice, "message"), "content");
  return content == nullptr ? nullptr : content->if_string();
}

}  // namespace

std::optional<std::string> structure_fault(llm::Structure wanted, std::string_view reply_body) {
  if (wanted == llm::Structure::kText) return std::nullopt;
  boost::system::error_code error;
  const json::value body = json::parse(reply_body, error);
  const json::value* choices = error ? nullptr : member(&body, "choices");
  if (choices == nullptr || !choices->is_array()) return std::nullopt;
  for (const json::value& choice : choices->get_array()) {
    const json::string* content = whole_content(choice);
    if (content == nullptr) continue;
    const json::value answer = json::parse(*content, error);
    if (!error && (wanted == llm::Structure::kJson || answer.is_object())) continue;
    const std::string_view text(*content);
    return fmt::format("the answer is {}: \"{}{}\"",
                       error ? "no JSON, which response_format asked for"
                             : "no JSON object, which response_format asked for",
                       utf8_repair(text.substr(0, kQuoteBytesMax)),
                       text.size() > kQuoteBytesMax ? "..." : "");
  }
  return std::nullopt;
}

}  // namespace windrow::upstream
