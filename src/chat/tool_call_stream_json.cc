// The part of ToolCallStream that reads calls as objects: {"name": ..., "arguments": {...}}, with
// its members in any order and others beside them.
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "chat/marks.h"
#include "chat/tool_call_stream.h"
#include "json/depth.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

// What the scan has passed, as a value; null where Boost is stricter than it.
json::value parsed(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  return error ? json::value() : value;
}

bool is_object(std::string_view text) {
  std::string value;
  JsonScanner scan;
  return text.starts_with('{') && scan.take(text, value) == text.size() &&
         scan.state() == JsonScanner::State::kWhole;
}

}  // namespace

bool ToolCallStream::read_list_or_object(Told& told) {
  if (!skip_space()) return false;
  if (pending_.front() != '[' && pending_.front() != '{') return fail(told);
  if (pending_.front() == '[') consume(1);
  part_ = Part::kObject;
  return true;
}

bool ToolCallStream::read_object(Told& told) {
  if (!skip_space()) return false;
  if (pending_.front() != '{') return fail(told);
  consume(1);
  part_ = Part::kKey;
  named_ = false;
  in_value_ = false;
  telling_ = false;
  arguments_.reset();
  return true;
}

bool ToolCallStream::read_key(Told& told) {
  if (!in_value_) {
    if (!skip_space()) return false;
    if (pending_.front() == '}') return end_object(told);
    if (pending_.front() != '"') return fail(told);
    in_value_ = true;
    value_.clear();
    scan_ = {};
  }
  consume(scan_.take(pending_, value_));
  if (scan_.state() == JsonScanner::State::kGoing) return false;
  if (scan_.state() == JsonScanner::State::kWrong) return fail(told);
  const json::value key = parsed(value_);
  key_ = key.is_string() ? std::string(key.get_string()) : "";
  in_value_ = false;
  part_ = Part::kColon;
  return true;
}

bool ToolCallStream::read_colon(Told& told) {
  if (!skip_space()) return false;
  if (pending_.front() != ':') return fail(told);
  consume(1);
  part_ = Part::kMember;
  return true;
}

bool ToolCallStream::is_arguments_key() const {
  return key_ == syntax_.arguments_key || key_ == "arguments" || key_ == "parameters";
}

// Whether a call beside a form is read: one without a mark is an object as the form's own answer
// may be. It counts when it is nothing but a name and arguments, which its end shows.
bool ToolCallStream::is_beside_form() const {
  return context_->at_begin_only && syntax_.mark.empty();
}

bool ToolCallStream::begin_member(Told& told) {
  in_value_ = true;
  telling_ = false;
  value_.clear();
  scan_ = {};
  if (told_) return true;
  if (is_beside_form())
    return named_ ? is_arguments_key() && !arguments_ : key_ == syntax_.name_key;
  // Without a mark, an answer that is another object is not held back for long.
  const bool known = key_ == syntax_.name_key || is_arguments_key() || key_ == "function" ||
                     key_ == "type" || key_ == "id";
  if (!known && syntax_.mark.empty()) return false;
  if (is_arguments_key() && named_ && pending_.front() == '{') {
    telling_ = true;
    commit(told);
  }
  return true;
}

bool ToolCallStream::read_member(Told& told) {
  if (!in_value_) {
    if (!skip_space()) return false;
    if (!begin_member(told)) return fail(told);
  }
  std::string text;
  consume(scan_.take(pending_, text));
  if (telling_) {
    add_arguments(text, told);
  } else if (!told_) {
    value_ += text;
  }
  if (scan_.state() == JsonScanner::State::kGoing) return false;
  if (scan_.state() == JsonScanner::State::kWrong) return fail(told);
  in_value_ = false;
  part_ = Part::kComma;
  return end_member(told) || fail(told);
}

// False where this is no call.
bool ToolCallStream::end_member(Told& told) {
  if (telling_) {
    telling_ = false;
    end_arguments(told);
    return true;
  }
  if (told_) return true;
  const json::value value = parsed(value_);
  if (is_arguments_key()) {
    if (value_ == "null") return take_arguments("{}", told);
    // Some models write them as the API has them: the text of an object.
    return take_arguments(value.is_string() ? std::string(value.get_string()) : value_, told);
  }
  if (key_ == syntax_.name_key || (key_ == "function" && value.is_string()))
    return value.is_string() && take_name(std::string(value.get_string()), told);
  if (key_ != "function" || !value.is_object()) return true;
  // A tool call as the API has it.
  const json::value* name = value.get_object().if_contains(syntax_.name_key);
  if (name == nullptr || !name->is_string()) return false;
  if (!take_name(std::string(name->get_string()), told)) return false;
  for (const char* key : {"arguments", "parameters"}) {
    const json::value* arguments = value.get_object().if_contains(key);
    if (arguments == nullptr) continue;
    return take_arguments(
        arguments->is_string() ? std::string(arguments->get_string()) : json::serialize(*arguments),
        told);
  }
  return true;
}

bool ToolCallStream::take_name(std::string name, Told& told) {
  if (named_ || !context_->tools.has(name)) return false;
  named_ = true;
  name_ = std::move(name);
  if (!arguments_) return true;
  return take_arguments(*std::exchange(arguments_, std::nullopt), told);
}

bool ToolCallStream::take_arguments(std::string arguments, Told& told) {
  if (!is_object(without_space(arguments))) return false;
  if (!named_ || is_beside_form()) {
    arguments_ = std::move(arguments);
    return true;
  }
  tell_whole_call(arguments, told);
  return true;
}

void ToolCallStream::tell_whole_call(std::string_view arguments, Told& told) {
  commit(told);
  add_arguments(without_space(arguments), told);
  end_arguments(told);
}

bool ToolCallStream::read_comma(Told& told) {
  if (!skip_space()) return false;
  if (pending_.front() == '}') return end_object(told);
  if (pending_.front() != ',') return fail(told);
  consume(1);
  part_ = Part::kKey;
  return true;
}

bool ToolCallStream::end_object(Told& told) {
  consume(1);
  if (!told_) {
    const bool complete = is_beside_form() && arguments_;
    // What a mark announced needs no arguments.
    if (!named_ || (syntax_.mark.empty() && !complete)) return fail(told);
    tell_whole_call(arguments_.value_or("{}"), told);
  }
  end_call(std::string_view(syntax_.close).substr(1));
  return true;
}

}  // namespace windrow::chat
