// The part of ToolCallStream that reads calls as tags, and makes an object of their members:
// <parameter=a>1</parameter> is {"a": 1}, or "1" where the tool's schema says that it is a text.
#include <string>

#include "chat/marks.h"
#include "chat/tagged_value.h"
#include "chat/tool_call_stream.h"

namespace windrow::chat {
namespace {

constexpr size_t kKeyMax = 256;

// "</function>" of "</function>\n</tool_call>": with this a call is whole.
std::string_view first_tag(std::string_view text) {
  return text.substr(0, text.find('>') + 1);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(kSpace));
}

}  // namespace

bool ToolCallStream::read_tag(Told& told) {
  if (!skip_space()) return false;
  size_t bytes = 0;
  const Match key = match(syntax_.key_open, pending_, bytes);
  if (key == Match::kYes) {
    consume(bytes);
    part_ = Part::kTagKey;
    return true;
  }
  const std::string_view end = first_tag(syntax_.close);
  const Match close = match(end, pending_, bytes);
  if (close == Match::kYes) {
    consume(bytes);
    add_arguments(first_member_ ? "{}" : "}", told);
    end_arguments(told);
    end_call(std::string_view(syntax_.close).substr(end.size()));
    return true;
  }
  if (key == Match::kMore || close == Match::kMore) return false;
  return fail(told);
}

bool ToolCallStream::read_tag_key(Told& told) {
  const size_t end = pending_.find(first_word(syntax_.key_close));
  if (end == std::string::npos) return pending_.size() > kKeyMax && fail(told);
  size_t bytes = 0;
  const Match close = match(syntax_.key_close, std::string_view(pending_).substr(end), bytes);
  if (close == Match::kMore) return false;
  if (close == Match::kNo) return fail(told);
  const std::string_view key = without_space(std::string_view(pending_).substr(0, end));
  kind_ = context_->tools.kind_of(name_, key);
  add_arguments(first_member_ ? "{\"" : ", \"", told);
  add_arguments(in_json_string(key), told);
  add_arguments(kind_ == ValueKind::kString ? "\": \"" : "\": ", told);
  consume(end + bytes);
  first_member_ = false;
  searched_ = 0;
  part_ = Part::kTagValueBegin;
  return true;
}

bool ToolCallStream::read_tag_value_begin() {
  if (syntax_.key_close.ends_with('\n') && pending_.front() == '\n') consume(1);
  part_ = Part::kTagValue;
  return true;
}

bool ToolCallStream::read_tag_value(Told& told) {
  const std::string_view close = without_space(syntax_.value_close);
  const size_t found = pending_.find(close, searched_);
  const bool ended = found != std::string::npos;
  size_t end = ended ? found : pending_.size() - begun(pending_, close);
  // The last line break is not the value's, where templates write one.
  if (syntax_.value_close.starts_with('\n') && end > 0 && pending_[end - 1] == '\n') --end;
  const std::string_view value = std::string_view(pending_).substr(0, end);
  if (kind_ == ValueKind::kString) {
    add_arguments(in_json_string(value), told);
    if (ended) add_arguments("\"", told);
  } else if (ended) {
    add_arguments(tagged_value_to_json(value, kind_), told);
  }
  if (ended) {
    consume(found + close.size());
    part_ = Part::kTag;
    return true;
  }
  if (kind_ == ValueKind::kString) {
    consume(end);
  } else {
    searched_ = end;
  }
  return false;
}

}  // namespace windrow::chat
