// Reads calls that begin with a name: NAME {"a": 1}, or members between tags, of which it makes an
// object: <parameter=a>1</parameter> is {"a": 1}, or {"a": "1"} where the tool's schema says that
// it is a string.
#include <string>

#include "chat/call_reader.h"
#include "chat/marks.h"
#include "json/scanner.h"

namespace windrow::chat {
namespace {

using Form = ToolSyntax::Form;

// Between a name and its arguments there is at most this much text that is no part of the call.
constexpr size_t kNameTailMax = 64;

constexpr size_t kKeyMax = 256;

// "</function>" of "</function>\n</tool_call>": with this a call is whole.
std::string_view first_tag(std::string_view text) {
  return text.substr(0, text.find('>') + 1);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(kSpace));
}

class NamedCallReader final : public CallReader {
 public:
  explicit NamedCallReader(const ToolContext& context)
      : context_(context), syntax_(context.syntax) {}

  void begin(Start start) override {
    part_ = start == Start::kAfterMark ? Part::kOpen : Part::kName;
  }

  Progress read(ToolCallBuffer& buffer) override {
    switch (part_) {
      case Part::kOpen:
        return read_open(buffer);
      case Part::kName:
        return read_name(buffer);
      case Part::kArguments:
        return read_arguments(buffer);
      case Part::kTag:
        return read_tag(buffer);
      case Part::kKey:
        return read_key(buffer);
      case Part::kValueBegin:
        return begin_value(buffer);
      case Part::kValue:
        return read_value(buffer);
    }
    return Progress::kFailed;
  }

  std::string_view rest_of_close() const override {
    const std::string_view close = syntax_.close;
    return syntax_.form == Form::kTagged ? close.substr(first_tag(close).size()) : close;
  }

 private:
  enum class Part : uint8_t {
    kOpen,       // the rest of what comes before a name
    kName,       // and what follows it
    kArguments,  // an object
    kTag,        // a member's or the closing one
    kKey,
    kValueBegin,  // a line break may come that is not part of the value
    kValue,
  };

  Progress read_open(ToolCallBuffer& buffer) {
    if (!buffer.skip_space()) return Progress::kWaiting;
    const std::string before_name = syntax_.begin + syntax_.open;
    size_t bytes = 0;
    const Match open = match_literal(std::string_view(before_name).substr(syntax_.mark.size()),
                                     buffer.text(), bytes);
    if (open == Match::kMaybe) return Progress::kWaiting;
    if (open == Match::kNo) return Progress::kFailed;
    buffer.consume(bytes);
    part_ = Part::kName;
    return Progress::kAdvanced;
  }

  Progress read_name(ToolCallBuffer& buffer) {
    if (!buffer.skip_space()) return Progress::kWaiting;
    size_t bytes = 0;
    const Match name = find_name(buffer.text(), bytes);
    if (name == Match::kMaybe) return Progress::kWaiting;
    if (name == Match::kNo) return Progress::kFailed;
    buffer.consume(bytes);
    if (syntax_.form == Form::kTagged) {
      buffer.begin_call(name_);
      first_member_ = true;
      part_ = Part::kTag;
    } else {
      scan_ = {};
      part_ = Part::kArguments;
    }
    return Progress::kAdvanced;
  }

  // The longest name of a tool that fits, with what follows it; sets name_.
  Match find_name(std::string_view text, size_t& bytes) {
    bool more = false;
    bool found = false;
    for (size_t size = 1; context_.tools.begins_one(text.substr(0, size)); ++size) {
      const std::string_view name = text.substr(0, size);
      if (context_.tools.has(name)) {
        size_t behind = 0;
        const Match match = match_after_name(text.substr(size), behind);
        more = more || match == Match::kMaybe;
        if (match == Match::kYes) {
          found = true;
          name_ = name;
          bytes = size + behind;
        }
      }
      if (size < text.size()) continue;
      more = true;
      break;
    }
    if (more) return Match::kMaybe;
    return found ? Match::kYes : Match::kNo;
  }

  Match match_after_name(std::string_view text, size_t& bytes) const {
    const std::string_view middle = without_space(syntax_.middle);
    if (!syntax_.name_tail.empty()) {
      const Match tail = match_literal(syntax_.name_tail, text, bytes);
      if (tail == Match::kMaybe) return Match::kMaybe;
      if (tail == Match::kYes) {
        const size_t found = text.find(middle);
        bytes = found + middle.size();
        if (found != std::string_view::npos) return Match::kYes;
        return text.size() < kNameTailMax ? Match::kMaybe : Match::kNo;
      }
    }
    const size_t next = text.find_first_not_of(kSpace);
    if (middle.empty()) {
      bytes = 0;
      if (text.empty()) return Match::kMaybe;
      return next != 0 || text.front() == '<' ? Match::kYes : Match::kNo;
    }
    const Match match = match_literal(middle, text, bytes);
    if (match != Match::kNo || syntax_.form == Form::kTagged) return match;
    bytes = next;
    return text[next] == '{' ? Match::kYes : Match::kNo;
  }

  Progress read_arguments(ToolCallBuffer& buffer) {
    if (!buffer.in_call()) {
      if (!buffer.skip_space()) return Progress::kWaiting;
      if (buffer.text().front() != '{') return Progress::kFailed;
      buffer.begin_call(name_);
    }
    std::string arguments;
    buffer.consume(scan_.take(buffer.text(), arguments));
    buffer.add_arguments(arguments);
    if (scan_.state() == JsonScanner::State::kGoing) return Progress::kWaiting;
    if (scan_.state() == JsonScanner::State::kWrong) return Progress::kFailed;
    buffer.end_arguments();
    return Progress::kEnded;
  }

  Progress read_tag(ToolCallBuffer& buffer) {
    if (!buffer.skip_space()) return Progress::kWaiting;
    size_t bytes = 0;
    const Match key = match_literal(syntax_.key_open, buffer.text(), bytes);
    if (key == Match::kYes) {
      buffer.consume(bytes);
      part_ = Part::kKey;
      return Progress::kAdvanced;
    }
    const Match close = match_literal(first_tag(syntax_.close), buffer.text(), bytes);
    if (close == Match::kYes) {
      buffer.consume(bytes);
      buffer.add_arguments(first_member_ ? "{}" : "}");
      buffer.end_arguments();
      return Progress::kEnded;
    }
    if (key == Match::kMaybe || close == Match::kMaybe) return Progress::kWaiting;
    return Progress::kFailed;
  }

  Progress read_key(ToolCallBuffer& buffer) {
    const std::string_view text = buffer.text();
    const size_t end = text.find(first_word(syntax_.key_close));
    if (end == std::string_view::npos)
      return text.size() > kKeyMax ? Progress::kFailed : Progress::kWaiting;
    size_t bytes = 0;
    const Match close = match_literal(syntax_.key_close, text.substr(end), bytes);
    if (close == Match::kMaybe) return Progress::kWaiting;
    if (close == Match::kNo) return Progress::kFailed;
    const std::string_view key = without_space(text.substr(0, end));
    kind_ = context_.tools.kind_of(name_, key);
    buffer.add_arguments(first_member_ ? "{\"" : ", \"");
    buffer.add_arguments(in_json_string(key));
    buffer.add_arguments(kind_ == ValueKind::kString ? "\": \"" : "\": ");
    buffer.consume(end + bytes);
    first_member_ = false;
    searched_ = 0;
    part_ = Part::kValueBegin;
    return Progress::kAdvanced;
  }

  Progress begin_value(ToolCallBuffer& buffer) {
    if (syntax_.key_close.ends_with('\n') && buffer.text().front() == '\n') buffer.consume(1);
    part_ = Part::kValue;
    return Progress::kAdvanced;
  }

  Progress read_value(ToolCallBuffer& buffer) {
    const std::string_view text = buffer.text();
    const std::string_view close = without_space(syntax_.value_close);
    const size_t found = text.find(close, searched_);
    const bool ended = found != std::string_view::npos;
    size_t end = ended ? found : text.size() - partial_suffix(text, close);
    // Templates that write a line break after a value do not mean it as a part of the value.
    if (syntax_.value_close.starts_with('\n') && end > 0 && text[end - 1] == '\n') --end;
    const std::string_view value = text.substr(0, end);
    if (kind_ == ValueKind::kString) {
      buffer.add_arguments(in_json_string(value));
      if (ended) buffer.add_arguments("\"");
    } else if (ended) {
      buffer.add_arguments(tagged_value_to_json(value, kind_));
    }
    if (ended) {
      buffer.consume(found + close.size());
      part_ = Part::kTag;
      return Progress::kAdvanced;
    }
    if (kind_ == ValueKind::kString) {
      buffer.consume(end);
    } else {
      searched_ = end;
    }
    return Progress::kWaiting;
  }

  const ToolContext& context_;
  const ToolSyntax& syntax_;
  Part part_ = Part::kName;
  std::string name_;
  JsonScanner scan_;  // kArguments

  bool first_member_ = true;
  ValueKind kind_ = ValueKind::kEither;
  size_t searched_ = 0;  // bytes of the value without its closing tag
};

}  // namespace

std::unique_ptr<CallReader> make_named_call_reader(const ToolContext& context) {
  return std::make_unique<NamedCallReader>(context);
}

}  // namespace windrow::chat
