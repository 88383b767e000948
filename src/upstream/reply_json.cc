#include "upstream/reply_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/error.hpp>
#include <boost/json/parser.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/values.h"

namespace windrow::upstream {

namespace json = boost::json;

namespace {

// How much of a text from outside a message quotes.
constexpr size_t kQuoteBytesMax = 200;

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return "";
  if (value->is_string()) return std::string(value->get_string());
  return value->is_int64() ? fmt::format("{}", value->get_int64()) : "";
}

int32_t count_of(const json::object* object, std::string_view name) {
  const json::value* value = object == nullptr ? nullptr : object->if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<int64_t>(error);
  if (error) return 0;
  return static_cast<int32_t>(std::clamp<int64_t>(number, 0, std::numeric_limits<int32_t>::max()));
}

}  // namespace

ReplyJson::ReplyJson(std::string_view body) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  json::parser parser(json::storage_ptr(&memory_), options, stack_.data(), stack_.size());
  boost::system::error_code error;
  parser.write(body.data(), body.size(), error);
  if (!error) value_.emplace(parser.release());
  too_deep_ = error == json::error::too_deep;
}

std::string one_line(std::string_view body) {
  const bool is_one = body.find('\n') == body.npos && body.find('\r') == body.npos;
  return is_one ? std::string(body) : json_without_space(body);
}

std::string in_quotes(std::string_view text) {
  std::string line(text.substr(0, kQuoteBytesMax));
  std::replace_if(
      line.begin(), line.end(), [](char byte) { return static_cast<unsigned char>(byte) < ' '; },
      ' ');
  return fmt::format("\"{}{}\"", utf8_repair(line), text.size() > kQuoteBytesMax ? "..." : "");
}

llm::Usage usage_of(const json::object& body) {
  const json::object* usage = object_in(body, "usage");
  llm::Usage result{.prompt_tokens = count_of(usage, "prompt_tokens"),
                    .completion_tokens = count_of(usage, "completion_tokens"),
                    .cached_tokens = 0};
  if (usage != nullptr) {
    result.cached_tokens = count_of(object_in(*usage, "prompt_tokens_details"), "cached_tokens");
    result.reasoning_tokens =
        count_of(object_in(*usage, "completion_tokens_details"), "reasoning_tokens");
  }
  return result;
}

ServerError error_in(const json::value* body) {
  const json::object* top = body == nullptr ? nullptr : body->if_object();
  if (top == nullptr) return {};
  if (std::string text = text_of(*top, "error"); !text.empty()) {
    return {.message = std::move(text), .code = {}, .type = {}, .param = {}};
  }
  if (std::string text = text_of(*top, "detail"); !text.empty()) {
    return {.message = std::move(text), .code = {}, .type = {}, .param = {}};
  }
  const json::object* error = object_in(*top, "error");
  const json::object& from = error == nullptr ? *top : *error;
  return {.message = text_of(from, "message"),
          .code = text_of(from, "code"),
          .type = text_of(from, "type"),
          .param = text_of(from, "param")};
}

}  // namespace windrow::upstream
