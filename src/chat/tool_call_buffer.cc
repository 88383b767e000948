#include "chat/tool_call_buffer.h"

#include <algorithm>
#include <utility>

#include "chat/marks.h"

namespace windrow::chat {

void ToolCallBuffer::consume(size_t bytes) {
  if (attempting_) attempt_ += text().substr(0, bytes);
  pending_.erase(0, bytes);
}

bool ToolCallBuffer::skip_space() {
  const size_t bytes = std::min(pending_.find_first_not_of(kSpace), pending_.size());
  if (!attempting_ && !in_call_) gap_ += text().substr(0, bytes);
  consume(bytes);
  return !empty();
}

void ToolCallBuffer::emit_content(size_t bytes) {
  emit_text(text().substr(0, bytes));
  pending_.erase(0, bytes);
}

void ToolCallBuffer::begin_call(std::string_view name) {
  in_call_ = true;
  whole_ = false;
  call_ = {.index = calls_++, .name = std::string(name), .arguments = {}};
  if (delivery_ == CallDelivery::kStreamed) deliver_held();
}

void ToolCallBuffer::deliver_held() {
  attempting_ = false;
  attempt_.clear();
  add_call(std::exchange(call_, {}));
}

void ToolCallBuffer::add_arguments(std::string_view text) {
  if (text.empty()) return;
  if (attempting_) {
    call_.arguments += text;
    return;
  }
  const int32_t index = calls_ - 1;
  const bool continues = !deltas_.empty() && !deltas_.back().calls.empty() &&
                         deltas_.back().calls.back().index == index;
  if (!continues) add_call({.index = index, .name = {}, .arguments = {}});
  deltas_.back().calls.back().arguments += text;
}

void ToolCallBuffer::end_arguments() {
  whole_ = true;
  if (attempting_) deliver_held();
}

void ToolCallBuffer::fail() {
  if (in_call_ && attempting_) discard_call();
  all_whole_ = all_whole();
  in_call_ = false;
  attempting_ = false;
  emit_text(std::exchange(attempt_, {}));
}

// Only a call that was not delivered.
void ToolCallBuffer::discard_call() {
  in_call_ = false;
  --calls_;
}

void ToolCallBuffer::finish(bool after_call, bool cut) {
  if (in_call_ && attempting_ && cut) {
    add_call(std::exchange(call_, {}));
    all_whole_ = false;
    in_call_ = false;
  } else if (in_call_ && attempting_) {
    discard_call();
    emit_text(std::exchange(attempt_, {}) + pending_);
  } else if (in_call_) {
    all_whole_ = all_whole();
    in_call_ = false;
  } else if (!after_call) {
    emit_text(std::exchange(attempt_, {}) + pending_);
  }
  pending_.clear();
  if (calls_ == 0) add_content(gap_);
  gap_.clear();
}

std::vector<ToolCallBuffer::Delta> ToolCallBuffer::take_deltas() {
  return std::exchange(deltas_, {});
}

void ToolCallBuffer::emit_text(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  gap_ += text.substr(0, begin);
  text.remove_prefix(begin);
  if (text.empty()) return;
  if (has_content_ || calls_ == 0) add_content(gap_);
  has_content_ = true;
  const size_t end = text.find_last_not_of(kSpace) + 1;
  add_content(text.substr(0, end));
  gap_ = text.substr(end);
}

void ToolCallBuffer::add_content(std::string_view text) {
  if (text.empty()) return;
  if (deltas_.empty() || !deltas_.back().calls.empty()) deltas_.emplace_back();
  deltas_.back().content += text;
}

void ToolCallBuffer::add_call(Call call) {
  if (deltas_.empty()) deltas_.emplace_back();
  deltas_.back().calls.push_back(std::move(call));
}

}  // namespace windrow::chat
