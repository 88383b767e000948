#include "chat/tool_call_stream.h"

#include <algorithm>
#include <utility>

#include "chat/marks.h"

namespace windrow::chat {
namespace {

using Form = ToolSyntax::Form;

// Between a name and its arguments there is no more text than this that says nothing.
constexpr size_t kNameTailMax = 64;

void add_content(std::string_view text, ToolCallStream::Told& told) {
  if (text.empty()) return;
  if (told.empty() || !told.back().calls.empty()) told.emplace_back();
  told.back().content += text;
}

void add_call(ToolCallStream::Call call, ToolCallStream::Told& told) {
  if (told.empty()) told.emplace_back();
  told.back().calls.push_back(std::move(call));
}

}  // namespace

ToolCallStream::ToolCallStream(std::shared_ptr<const ToolContext> context, Telling telling)
    : context_(std::move(context)), syntax_(context_->syntax), telling_when_(telling) {
  if (syntax_.form != Form::kNone && syntax_.mark.empty()) part_ = Part::kBare;
}

ToolCallStream::Told ToolCallStream::take(std::string_view text) {
  Told told;
  if (over()) return told;
  pending_ += text;
  while (!pending_.empty() && go_on(told)) {
  }
  return told;
}

ToolCallStream::Told ToolCallStream::end(bool cut) {
  Told told;
  const bool behind = part_ == Part::kClose || part_ == Part::kBehind || part_ == Part::kEnd;
  if (told_ && attempting_) {
    if (cut) {
      add_call(std::exchange(made_, {}), told);
      all_whole_ = false;
      told_ = false;
    } else {
      leave_call();
      say(std::exchange(attempt_, {}) + pending_, told);
    }
  } else if (told_) {
    all_whole_ = all_whole();
    told_ = false;
  } else if (!behind) {
    say(std::exchange(attempt_, {}) + pending_, told);
  }
  pending_.clear();
  if (calls_ == 0) add_content(gap_, told);
  gap_.clear();
  part_ = Part::kOver;
  return told;
}

// False when nothing can be done before there is more.
bool ToolCallStream::go_on(Told& told) {
  switch (part_) {
    case Part::kText:
      return read_text(told);
    case Part::kBare:
      return read_bare(told);
    case Part::kOpen:
      return read_open(told);
    case Part::kListOrObject:
      return read_list_or_object(told);
    case Part::kObject:
      return read_object(told);
    case Part::kKey:
      return read_key(told);
    case Part::kColon:
      return read_colon(told);
    case Part::kMember:
      return read_member(told);
    case Part::kComma:
      return read_comma(told);
    case Part::kName:
      return read_name(told);
    case Part::kArguments:
      return read_arguments(told);
    case Part::kTag:
      return read_tag(told);
    case Part::kTagKey:
      return read_tag_key(told);
    case Part::kTagValueBegin:
      return read_tag_value_begin();
    case Part::kTagValue:
      return read_tag_value(told);
    case Part::kClose:
      return read_close();
    case Part::kBehind:
      return read_behind();
    case Part::kEnd:
      return read_end();
    case Part::kOver:
      break;
  }
  pending_.clear();
  return false;
}

bool ToolCallStream::read_text(Told& told) {
  const bool text_only = context_->at_begin_only && said_ && calls_ == 0;
  const bool looks = !syntax_.mark.empty() && (context_->several || calls_ == 0) && !text_only;
  const size_t found = looks ? pending_.find(syntax_.mark) : std::string::npos;
  if (looks && context_->at_begin_only && calls_ == 0) {
    const size_t begin = pending_.find_first_not_of(kSpace);
    const bool may_be_mark = begin == std::string::npos ||
                             syntax_.mark.starts_with(pending_.substr(begin)) ||
                             std::string_view(pending_).substr(begin).starts_with(syntax_.mark);
    if (!may_be_mark) {
      say(pending_, told);
      pending_.clear();
      return false;
    }
  }
  if (found == std::string::npos) {
    const size_t end = pending_.size() - (looks ? begun(pending_, syntax_.mark) : 0);
    say(std::string_view(pending_).substr(0, end), told);
    pending_.erase(0, end);
    return false;
  }
  say(std::string_view(pending_).substr(0, found), told);
  pending_.erase(0, found);
  if (syntax_.form == Form::kJson) {
    attempt(Part::kListOrObject);
  } else {
    attempt(Part::kOpen);
    literal_ = (syntax_.begin + syntax_.open).substr(syntax_.mark.size());
  }
  consume(syntax_.mark.size());
  return true;
}

bool ToolCallStream::read_bare(Told& told) {
  if (!skip_space()) return false;
  size_t bytes = 0;
  const Match preamble = match(syntax_.preamble, pending_, bytes);
  if (preamble == Match::kMore) return false;
  if (preamble == Match::kNo && pending_.front() != '{') return fail(told);
  attempt(Part::kObject);
  consume(bytes);
  return true;
}

bool ToolCallStream::read_open(Told& told) {
  if (!skip_space()) return false;
  size_t bytes = 0;
  const Match open = match(literal_, pending_, bytes);
  if (open == Match::kMore) return false;
  if (open == Match::kNo) return fail(told);
  consume(bytes);
  part_ = Part::kName;
  return true;
}

// The longest name that fits, with what stands behind it.
ToolCallStream::Match ToolCallStream::find_name(size_t& bytes) {
  const std::string_view text = pending_;
  bool more = false;
  bool found = false;
  for (size_t size = 1; context_->tools.begins_one(text.substr(0, size)); ++size) {
    const std::string_view name = text.substr(0, size);
    if (context_->tools.has(name)) {
      size_t behind = 0;
      const Match match = match_behind_name(text.substr(size), behind);
      more = more || match == Match::kMore;
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
  if (more) return Match::kMore;
  return found ? Match::kYes : Match::kNo;
}

ToolCallStream::Match ToolCallStream::match_behind_name(std::string_view text,
                                                        size_t& bytes) const {
  const std::string_view middle = without_space(syntax_.middle);
  if (!syntax_.name_tail.empty()) {
    const Match tail = match(syntax_.name_tail, text, bytes);
    if (tail == Match::kMore) return Match::kMore;
    if (tail == Match::kYes) {
      const size_t found = text.find(middle);
      bytes = found + middle.size();
      if (found != std::string_view::npos) return Match::kYes;
      return text.size() < kNameTailMax ? Match::kMore : Match::kNo;
    }
  }
  const size_t next = text.find_first_not_of(kSpace);
  if (middle.empty()) {
    bytes = 0;
    if (text.empty()) return Match::kMore;
    return next != 0 || text.front() == '<' ? Match::kYes : Match::kNo;
  }
  const Match match = ToolCallStream::match(middle, text, bytes);
  if (match != Match::kNo || syntax_.form == Form::kTagged) return match;
  bytes = next;
  return text[next] == '{' ? Match::kYes : Match::kNo;
}

bool ToolCallStream::read_name(Told& told) {
  if (!skip_space()) return false;
  size_t bytes = 0;
  const Match name = find_name(bytes);
  if (name == Match::kMore) return false;
  if (name == Match::kNo) return fail(told);
  consume(bytes);
  scan_ = {};
  if (syntax_.form == Form::kTagged) {
    commit(told);
    first_member_ = true;
    part_ = Part::kTag;
  } else {
    part_ = Part::kArguments;
  }
  return true;
}

bool ToolCallStream::read_arguments(Told& told) {
  if (!told_) {
    if (!skip_space()) return false;
    if (pending_.front() != '{') return fail(told);
    commit(told);
  }
  std::string arguments;
  consume(scan_.take(pending_, arguments));
  add_arguments(arguments, told);
  if (scan_.state() == JsonScanner::State::kGoing) return false;
  if (scan_.state() == JsonScanner::State::kWrong) return fail(told);
  end_arguments(told);
  end_call(syntax_.close);
  return true;
}

bool ToolCallStream::read_close() {
  if (!skip_space()) return false;
  size_t bytes = 0;
  const Match close = match(literal_, pending_, bytes);
  if (close == Match::kMore) return false;
  if (close == Match::kYes) pending_.erase(0, bytes);
  part_ = Part::kBehind;
  return true;
}

bool ToolCallStream::read_behind() {
  if (!skip_space()) return false;
  const char next = pending_.front();
  part_ = Part::kText;
  if (syntax_.mark.empty()) {
    if (next != '{' && next != ';') return true;
    attempt(Part::kObject);
    if (next == ';') consume(1);
  } else if (syntax_.list) {
    if (next == ',') {
      attempt(Part::kObject);
      consume(1);
    } else if (next == ']') {
      pending_.erase(0, 1);
      literal_ = syntax_.end.substr(1);
      part_ = Part::kEnd;
    }
  } else if (!syntax_.begin.empty()) {
    size_t bytes = 0;
    const Match open = match(syntax_.open, pending_, bytes);
    if (open == Match::kNo) {
      literal_ = syntax_.end;
      part_ = Part::kEnd;
    } else if (open == Match::kYes) {
      attempt(Part::kName);
      consume(bytes);
    } else {
      part_ = Part::kBehind;
      return false;
    }
  }
  return true;
}

bool ToolCallStream::read_end() {
  if (!skip_space()) return false;
  size_t bytes = 0;
  const Match end = match(literal_, pending_, bytes);
  if (end == Match::kMore) return false;
  if (end == Match::kYes) pending_.erase(0, bytes);
  part_ = Part::kText;
  return true;
}

// But for white space in either.
ToolCallStream::Match ToolCallStream::match(std::string_view literal, std::string_view text,
                                            size_t& bytes) {
  size_t at = 0;
  bytes = 0;
  for (const char wanted : literal) {
    if (is_space(wanted)) continue;
    at = text.find_first_not_of(kSpace, at);
    if (at == std::string_view::npos) return Match::kMore;
    if (text[at] != wanted) return Match::kNo;
    bytes = ++at;
  }
  return Match::kYes;
}

// False when there is nothing else.
bool ToolCallStream::skip_space() {
  const size_t bytes = std::min(pending_.find_first_not_of(kSpace), pending_.size());
  if (!attempting_ && !told_) gap_ += std::string_view(pending_).substr(0, bytes);
  consume(bytes);
  return !pending_.empty();
}

void ToolCallStream::consume(size_t bytes) {
  if (attempting_) attempt_ += std::string_view(pending_).substr(0, bytes);
  pending_.erase(0, bytes);
}

void ToolCallStream::attempt(Part part) {
  attempting_ = true;
  part_ = part;
}

// It is a call.
void ToolCallStream::commit(Told& told) {
  told_ = true;
  whole_ = false;
  made_ = {.index = calls_++, .name = name_, .arguments = {}};
  if (telling_when_ == Telling::kAtOnce) tell_made(told);
}

void ToolCallStream::tell_made(Told& told) {
  attempting_ = false;
  attempt_.clear();
  add_call(std::exchange(made_, {}), told);
}

void ToolCallStream::add_arguments(std::string_view text, Told& told) {
  if (text.empty()) return;
  if (attempting_) {
    made_.arguments += text;
    return;
  }
  const int32_t index = calls_ - 1;
  const bool goes_on =
      !told.empty() && !told.back().calls.empty() && told.back().calls.back().index == index;
  if (!goes_on) add_call({.index = index, .name = {}, .arguments = {}}, told);
  told.back().calls.back().arguments += text;
}

void ToolCallStream::end_arguments(Told& told) {
  whole_ = true;
  if (attempting_) tell_made(told);
  if (context_->several) return;
  part_ = Part::kOver;
  pending_.clear();
}

void ToolCallStream::end_call(std::string_view close) {
  told_ = false;
  if (over()) return;
  literal_ = close;
  part_ = Part::kClose;
}

// What was told of a call stays told; what was not is content.
bool ToolCallStream::fail(Told& told) {
  if (told_ && attempting_) leave_call();
  if (told_) all_whole_ = all_whole();
  told_ = false;
  attempting_ = false;
  part_ = Part::kText;
  say(std::exchange(attempt_, {}), told);
  return true;
}

// One that is not told, and will not be.
void ToolCallStream::leave_call() {
  told_ = false;
  --calls_;
}

void ToolCallStream::say(std::string_view text, Told& told) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  gap_ += text.substr(0, begin);
  text.remove_prefix(begin);
  if (text.empty()) return;
  if (said_ || calls_ == 0) add_content(gap_, told);
  said_ = true;
  const size_t end = text.find_last_not_of(kSpace) + 1;
  add_content(text.substr(0, end), told);
  gap_ = text.substr(end);
}

CallsOfAnswer split_calls(std::shared_ptr<const ToolContext> context, std::string_view content,
                          Telling telling, bool cut) {
  ToolCallStream stream(std::move(context), telling);
  CallsOfAnswer answer;
  for (const ToolCallStream::Told& told : {stream.take(content), stream.end(cut)}) {
    for (const ToolCallStream::More& more : told) {
      answer.content += more.content;
      for (const ToolCallStream::Call& call : more.calls) {
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
