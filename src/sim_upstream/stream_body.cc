#include "sim_upstream/stream_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <utility>

namespace windrow::sim_upstream {

namespace json = boost::json;

std::string sse(std::string_view data) {
  return fmt::format("data: {}\n\n", data);
}

size_t text_end(std::string_view text, int64_t tokens, int64_t all) {
  if (tokens >= all) return text.size();
  size_t end = text.size() * static_cast<size_t>(tokens) / static_cast<size_t>(all);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    ++end;
  return end;
}

StreamBody::StreamBody(Endpoint endpoint, const ReplyFacts& facts, std::vector<Choice> choices,
                       std::vector<int64_t> tokens, bool with_usage)
    : endpoint_(endpoint), choices_(std::move(choices)), tokens_(std::move(tokens)) {
  const bool chat = endpoint == Endpoint::kChat;
  head_ = fmt::format(R"({{"id":"{}-sim-{}","object":"{}","created":{},"model":{})",
                      chat ? "chatcmpl" : "cmpl", facts.number,
                      chat ? "chat.completion.chunk" : "text_completion", facts.created_s,
                      in_quotes(facts.model));
  if (with_usage) usage_ = json::serialize(usage_json(facts.usage));
}

// Like OpenAI's: once the usage was asked for, every event has the member.
std::string StreamBody::event(std::string_view choices) const {
  return sse(fmt::format(R"({},"choices":[{}]{}}})", head_, choices,
                         usage_.empty() ? "" : R"(,"usage":null)"));
}

std::string StreamBody::event_of(size_t choice, std::string_view delta,
                                 std::string_view reason) const {
  return event(fmt::format(R"({{"index":{},{},"logprobs":null,"finish_reason":{}}})", choice, delta,
                           reason.empty() ? "null" : in_quotes(reason)));
}

std::string StreamBody::text_delta(std::string_view text) const {
  return endpoint_ == Endpoint::kChat ? fmt::format(R"("delta":{{"content":{}}})", in_quotes(text))
                                      : fmt::format(R"("text":{})", in_quotes(text));
}

std::string StreamBody::next(int64_t count) {
  const bool chat = endpoint_ == Endpoint::kChat;
  std::string events;
  const bool first = !std::exchange(begun_, true);
  const int64_t made = made_ + count;
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (first && chat) events += event_of(i, R"("delta":{"role":"assistant","content":""})", "");
    const int64_t all = tokens_[i];
    if (made_ >= all && !first) continue;  // it has ended
    const std::string_view text = choices_[i].text;
    const size_t begin = made_ == 0 ? 0 : text_end(text, made_, all);
    const size_t end = text_end(text, made, all);
    if (end > begin) events += event_of(i, text_delta(text.substr(begin, end - begin)), "");
    if (made >= all) {
      events +=
          event_of(i, chat ? R"("delta":{})" : R"("text":"")", choices_[i].cut ? "length" : "stop");
    }
  }
  made_ = made;
  return events;
}

LongBody StreamBody::end(bool mark) {
  std::string events;
  if (!usage_.empty()) events += sse(fmt::format(R"({},"choices":[],"usage":{}}})", head_, usage_));
  if (mark) events += sse("[DONE]");
  return LongBody(std::move(events));
}

// An event that says what went wrong, and one that is no JSON, stand in the middle of the stream.
void StreamRun::strike(Step& step) {
  switch (*fault_) {
    case FaultKind::kReset:
      step.events.resize(step.events.size() / 2);
      step.delivery = Delivery::kBroken;
      break;
    case FaultKind::kTruncated:
      step.events.resize(step.events.size() / 2);
      step.delivery = Delivery::kLast;
      break;
    case FaultKind::kStreamError:
      step.events += sse(error_body("something went wrong inside", "server_error", ""));
      step.delivery = Delivery::kLast;
      break;
    case FaultKind::kNoEnd:
      step.delivery = Delivery::kLast;
      break;
    case FaultKind::kStreamGarbage:
      step.events += sse(R"({"choices":[{"index":0,"del)");
      step.struck = fault_;
      return;
    default:
      return;
  }
  step.struck = fault_;
  step.then = Step::Then::kBroken;
}

StreamRun::Step StreamRun::step(int64_t tokens) {
  const int64_t before = made_;
  made_ = std::min(tokens_, before + tokens);
  Step step{.events = body_->next(made_ - before)};
  const int64_t middle = (tokens_ + 1) / 2;
  if (fault_ && before < std::max<int64_t>(middle, 1) && made_ >= middle) strike(step);
  if (step.then == Step::Then::kBroken) return step;
  step.held_back = has(FaultKind::kSlowBody) || (has(FaultKind::kStall) && made_ >= middle);
  if (step.held_back) rest_.add(std::exchange(step.events, {}));
  if (made_ < tokens_) return step;
  step.then = Step::Then::kMade;
  const bool marks_end = !has(FaultKind::kNoDone);
  if (!marks_end) step.struck = fault_;
  rest_.add(body_->end(marks_end));
  return step;
}

}  // namespace windrow::sim_upstream
