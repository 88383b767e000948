// Reads calls that are objects.
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <utility>

#include "chat/call_reader.h"
#include "chat/marks.h"
#include "json/limits.h"
#include "json/scanner.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

// The value of a text that a scan has passed; null where Boost is stricter than the scan.
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

class JsonCallReader final : public CallReader {
 public:
  explicit JsonCallReader(const ToolContext& context)
      : context_(context), syntax_(context.syntax) {}

  void begin(Start start) override {
    part_ = start == Start::kAfterMark ? Part::kListOrObject : Part::kObject;
    in_value_ = false;
  }

  Progress read(ToolCallBuffer& buffer) override {
    if (!in_value_ && !buffer.skip_space()) return Progress::kWaiting;
    switch (part_) {
      case Part::kListOrObject:
        return read_list_or_object(buffer);
      case Part::kObject:
        return read_object(buffer);
      case Part::kKey:
        return read_key(buffer);
      case Part::kColon:
        return read_colon(buffer);
      case Part::kMember:
        return read_member(buffer);
      case Part::kComma:
        return read_comma(buffer);
    }
    return Progress::kFailed;
  }

  std::string_view rest_of_close() const override {
    return std::string_view(syntax_.close).substr(1);
  }

 private:
  enum class Part : uint8_t {
    kListOrObject,  // the bracket of a list may come
    kObject,        // {
    kKey,           // or }
    kColon,
    kMember,  // a value
    kComma,   // or }
  };

  Progress read_list_or_object(ToolCallBuffer& buffer) {
    const char next = buffer.text().front();
    if (next != '[' && next != '{') return Progress::kFailed;
    if (next == '[') buffer.consume(1);
    part_ = Part::kObject;
    return Progress::kAdvanced;
  }

  Progress read_object(ToolCallBuffer& buffer) {
    if (buffer.text().front() != '{') return Progress::kFailed;
    buffer.consume(1);
    part_ = Part::kKey;
    named_ = false;
    in_value_ = false;
    streaming_ = false;
    arguments_.reset();
    return Progress::kAdvanced;
  }

  Progress read_key(ToolCallBuffer& buffer) {
    if (!in_value_) {
      if (buffer.text().front() == '}') return end_object(buffer);
      if (buffer.text().front() != '"') return Progress::kFailed;
      in_value_ = true;
      value_.clear();
      scan_ = {};
    }
    buffer.consume(scan_.take(buffer.text(), value_));
    if (scan_.state() == JsonScanner::State::kGoing) return Progress::kWaiting;
    in_value_ = false;
    if (scan_.state() == JsonScanner::State::kWrong) return Progress::kFailed;
    const json::value key = parsed(value_);
    key_ = key.is_string() ? std::string(key.get_string()) : "";
    part_ = Part::kColon;
    return Progress::kAdvanced;
  }

  Progress read_colon(ToolCallBuffer& buffer) {
    if (buffer.text().front() != ':') return Progress::kFailed;
    buffer.consume(1);
    part_ = Part::kMember;
    return Progress::kAdvanced;
  }

  Progress read_member(ToolCallBuffer& buffer) {
    if (!in_value_ && !begin_member(buffer)) return Progress::kFailed;
    std::string text;
    buffer.consume(scan_.take(buffer.text(), text));
    if (streaming_) {
      buffer.add_arguments(text);
    } else if (!buffer.in_call()) {
      value_ += text;
    }
    if (scan_.state() == JsonScanner::State::kGoing) return Progress::kWaiting;
    in_value_ = false;
    if (scan_.state() == JsonScanner::State::kWrong) return Progress::kFailed;
    part_ = Part::kComma;
    return end_member(buffer) ? Progress::kAdvanced : Progress::kFailed;
  }

  // False where this is no call.
  bool begin_member(ToolCallBuffer& buffer) {
    streaming_ = false;
    value_.clear();
    scan_ = {};
    if (!buffer.in_call()) {
      if (!may_be_of_call()) return false;
      if (is_arguments_key() && named_ && buffer.text().front() == '{' && !is_beside_form()) {
        streaming_ = true;
        buffer.begin_call(name_);
      }
    }
    in_value_ = true;
    return true;
  }

  bool may_be_of_call() const {
    if (is_beside_form())
      return named_ ? is_arguments_key() && !arguments_ : key_ == syntax_.name_key;
    // Without a mark, an answer that is another object is not held back for long.
    return !syntax_.mark.empty() || key_ == syntax_.name_key || is_arguments_key() ||
           key_ == "function" || key_ == "type" || key_ == "id";
  }

  // False where this is no call.
  bool end_member(ToolCallBuffer& buffer) {
    if (streaming_) {
      streaming_ = false;
      buffer.end_arguments();
      return true;
    }
    if (buffer.in_call()) return true;
    const json::value value = parsed(value_);
    if (is_arguments_key()) {
      if (value_ == "null") return take_arguments("{}", buffer);
      // Some models write them as the API has them: the text of an object.
      return take_arguments(value.is_string() ? std::string(value.get_string()) : value_, buffer);
    }
    if (key_ == syntax_.name_key || (key_ == "function" && value.is_string()))
      return value.is_string() && take_name(std::string(value.get_string()), buffer);
    if (key_ != "function" || !value.is_object()) return true;
    return take_function(value.get_object(), buffer);
  }

  // A tool call as the API has it.
  bool take_function(const json::object& function, ToolCallBuffer& buffer) {
    const json::value* name = function.if_contains(syntax_.name_key);
    if (name == nullptr || !name->is_string()) return false;
    if (!take_name(std::string(name->get_string()), buffer)) return false;
    for (const char* key : {"arguments", "parameters"}) {
      const json::value* arguments = function.if_contains(key);
      if (arguments == nullptr) continue;
      return take_arguments(arguments->is_string() ? std::string(arguments->get_string())
                                                   : json::serialize(*arguments),
                            buffer);
    }
    return true;
  }

  bool take_name(std::string name, ToolCallBuffer& buffer) {
    if (named_ || !context_.tools.has(name)) return false;
    named_ = true;
    name_ = std::move(name);
    if (!arguments_) return true;
    return take_arguments(*std::exchange(arguments_, std::nullopt), buffer);
  }

  bool take_arguments(std::string arguments, ToolCallBuffer& buffer) {
    if (!is_object(without_space(arguments))) return false;
    if (!named_ || is_beside_form()) {
      arguments_ = std::move(arguments);
      return true;
    }
    add_whole_call(arguments, buffer);
    return true;
  }

  void add_whole_call(std::string_view arguments, ToolCallBuffer& buffer) {
    buffer.begin_call(name_);
    buffer.add_arguments(without_space(arguments));
    buffer.end_arguments();
  }

  Progress read_comma(ToolCallBuffer& buffer) {
    if (buffer.text().front() == '}') return end_object(buffer);
    if (buffer.text().front() != ',') return Progress::kFailed;
    buffer.consume(1);
    part_ = Part::kKey;
    return Progress::kAdvanced;
  }

  Progress end_object(ToolCallBuffer& buffer) {
    buffer.consume(1);
    if (!buffer.in_call()) {
      const bool complete = is_beside_form() && arguments_;
      // After a mark, a name alone is a call without arguments.
      if (!named_ || (syntax_.mark.empty() && !complete)) return Progress::kFailed;
      add_whole_call(arguments_.value_or("{}"), buffer);
    }
    return Progress::kEnded;
  }

  bool is_arguments_key() const {
    return key_ == syntax_.arguments_key || key_ == "arguments" || key_ == "parameters";
  }

  // Whether the answer may also be an object of another form, with no mark to tell them apart. Then
  // it is a call if it has a name and arguments and nothing else, which its end shows.
  bool is_beside_form() const { return context_.at_begin_only && syntax_.mark.empty(); }

  const ToolContext& context_;
  const ToolSyntax& syntax_;
  Part part_ = Part::kObject;
  JsonScanner scan_;
  std::string name_;
  bool named_ = false;
  std::optional<std::string> arguments_;  // that came before the name

  bool in_value_ = false;   // inside a key or a value
  bool streaming_ = false;  // the member is the arguments, which go to the buffer as they come
  std::string key_;
  std::string value_;
};

}  // namespace

std::unique_ptr<CallReader> make_json_call_reader(const ToolContext& context) {
  return std::make_unique<JsonCallReader>(context);
}

}  // namespace windrow::chat
