#include "chat/tool_call_stream.h"

#include <algorithm>
#include <utility>

#include "chat/marks.h"

namespace windrow::chat {
namespace {

std::unique_ptr<CallReader> make_call_reader(const ToolContext& context) {
  const bool is_json =
      context.syntax.form == ToolSyntax::Form::kJson || context.syntax.mark.empty();
  return is_json ? make_json_call_reader(context) : make_named_call_reader(context);
}

}  // namespace

ToolCallStream::ToolCallStream(std::shared_ptr<const ToolContext> context, CallDelivery delivery)
    : context_(std::move(context)), reader_(make_call_reader(*context_)), buffer_(delivery) {
  const ToolSyntax& syntax = context_->syntax;
  if (syntax.form != ToolSyntax::Form::kNone && syntax.mark.empty()) part_ = Part::kBare;
}

std::vector<ToolCallStream::Delta> ToolCallStream::take(std::string_view text) {
  if (over()) return {};
  buffer_.append(text);
  while (!buffer_.empty() && read()) {
  }
  return buffer_.take_deltas();
}

std::vector<ToolCallStream::Delta> ToolCallStream::end(bool cut) {
  const bool after_call = part_ == Part::kClose || part_ == Part::kNext || part_ == Part::kEnd;
  buffer_.finish(after_call, cut);
  part_ = Part::kOver;
  return buffer_.take_deltas();
}

// Returns false when it needs more text.
bool ToolCallStream::read() {
  switch (part_) {
    case Part::kText:
      return read_text();
    case Part::kBare:
      return read_bare();
    case Part::kCall:
      return read_call();
    case Part::kClose:
      return read_close(Part::kNext);
    case Part::kNext:
      return read_next();
    case Part::kEnd:
      return read_close(Part::kText);
    case Part::kOver:
      break;
  }
  buffer_.drop_text();
  return false;
}

bool ToolCallStream::read_text() {
  const std::string_view mark = context_->syntax.mark;
  const std::string_view text = buffer_.text();
  const bool before_calls = buffer_.calls() == 0;
  const bool text_only = context_->at_begin_only && buffer_.has_content() && before_calls;
  const bool looks = !mark.empty() && (context_->several || before_calls) && !text_only;
  if (looks && context_->at_begin_only && before_calls) {
    const size_t begin = text.find_first_not_of(kSpace);
    const bool may_be_mark = begin == std::string_view::npos ||
                             mark.starts_with(text.substr(begin)) ||
                             text.substr(begin).starts_with(mark);
    if (!may_be_mark) {
      buffer_.emit_content(text.size());
      return false;
    }
  }
  const size_t found = looks ? text.find(mark) : std::string_view::npos;
  if (found == std::string_view::npos) {
    buffer_.emit_content(text.size() - (looks ? partial_suffix(text, mark) : 0));
    return false;
  }
  buffer_.emit_content(found);
  begin_call(CallReader::Start::kAfterMark, mark.size());
  return true;
}

bool ToolCallStream::read_bare() {
  if (!buffer_.skip_space()) return false;
  size_t bytes = 0;
  const Match preamble = match_literal(context_->syntax.preamble, buffer_.text(), bytes);
  if (preamble == Match::kMaybe) return false;
  if (preamble == Match::kNo && buffer_.text().front() != '{') {
    buffer_.fail();
    part_ = Part::kText;
    return true;
  }
  begin_call(CallReader::Start::kAfterOpen, bytes);
  return true;
}

// `bytes` of the text are before the call, and content if it is none.
void ToolCallStream::begin_call(CallReader::Start start, size_t bytes) {
  buffer_.begin_attempt();
  buffer_.consume(bytes);
  reader_->begin(start);
  part_ = Part::kCall;
}

bool ToolCallStream::read_call() {
  const CallReader::Progress progress = reader_->read(buffer_);
  if (progress == CallReader::Progress::kFailed) {
    buffer_.fail();
    part_ = Part::kText;
    return true;
  }
  if (progress == CallReader::Progress::kEnded) {
    buffer_.end_call();
    literal_ = reader_->rest_of_close();
    part_ = Part::kClose;
  }
  if (!context_->several && buffer_.last_is_whole()) {
    part_ = Part::kOver;
    buffer_.drop_text();
  }
  return progress != CallReader::Progress::kWaiting;
}

bool ToolCallStream::read_close(Part next) {
  if (!buffer_.skip_space()) return false;
  size_t bytes = 0;
  const Match close = match_literal(literal_, buffer_.text(), bytes);
  if (close == Match::kMaybe) return false;
  if (close == Match::kYes) buffer_.consume(bytes);
  part_ = next;
  return true;
}

bool ToolCallStream::read_next() {
  if (!buffer_.skip_space()) return false;
  const ToolSyntax& syntax = context_->syntax;
  const char next = buffer_.text().front();
  part_ = Part::kText;
  if (syntax.mark.empty()) {
    if (next == '{' || next == ';') begin_call(CallReader::Start::kAfterOpen, next == ';' ? 1 : 0);
  } else if (syntax.list) {
    if (next == ',') {
      begin_call(CallReader::Start::kAfterOpen, 1);
    } else if (next == ']') {
      buffer_.consume(1);
      literal_ = syntax.end.substr(1);
      part_ = Part::kEnd;
    }
  } else if (!syntax.begin.empty()) {
    size_t bytes = 0;
    const Match open = match_literal(syntax.open, buffer_.text(), bytes);
    if (open == Match::kYes) {
      begin_call(CallReader::Start::kAfterOpen, bytes);
    } else if (open == Match::kNo) {
      literal_ = syntax.end;
      part_ = Part::kEnd;
    } else {
      part_ = Part::kNext;
      return false;
    }
  }
  return true;
}

Match match_literal(std::string_view literal, std::string_view text, size_t& bytes) {
  size_t at = 0;
  bytes = 0;
  for (const char wanted : literal) {
    if (is_space(wanted)) continue;
    at = text.find_first_not_of(kSpace, at);
    if (at == std::string_view::npos) return Match::kMaybe;
    if (text[at] != wanted) return Match::kNo;
    bytes = ++at;
  }
  return Match::kYes;
}

CallsOfAnswer split_calls(std::shared_ptr<const ToolContext> context, std::string_view content,
                          CallDelivery delivery, bool cut) {
  ToolCallStream stream(std::move(context), delivery);
  CallsOfAnswer answer;
  for (const std::vector<ToolCallStream::Delta>& deltas : {stream.take(content), stream.end(cut)}) {
    for (const ToolCallStream::Delta& delta : deltas) {
      answer.content += delta.content;
      for (const ToolCallStream::Call& call : delta.calls) {
        answer.calls.resize(std::max(answer.calls.size(), static_cast<size_t>(call.index) + 1));
        WrittenCall& written = answer.calls[static_cast<size_t>(call.index)];
        if (!call.name.empty()) written.name = call.name;
        written.arguments += call.arguments;
      }
    }
  }
  answer.all_whole = stream.all_whole();
  return answer;
}

}  // namespace windrow::chat
