#include "api/calls/call_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace windrow::api {

CallRecord::CallRecord(RequestContext context, const Clock& clock)
    : clock_(clock), arrived_at_(context.record().arrived_at), context_(std::move(context)) {}

void CallRecord::log_body(std::string_view body) {
  const std::scoped_lock lock(mutex_);
  if (context_->logs_answers()) context_->record().body = shown_in_log(body);
}

std::optional<llm::Failure> CallRecord::admit(int64_t tokens,
                                              std::unique_ptr<LiveRequests::Ticket> ticket) {
  const std::scoped_lock lock(mutex_);
  std::optional<llm::Failure> failure = context_->take_tokens(tokens);
  if (!failure) ticket_ = std::move(ticket);
  return failure;
}

void CallRecord::note_facts(CallFacts facts) {
  const std::scoped_lock lock(mutex_);
  RequestRecord& record = context_->record();
  record.model = std::move(facts.model);
  record.priority = facts.priority;
  record.stream = facts.stream;
  raw_ = facts.raw;
  ignored_tokens_ = facts.ignored_tokens;
  ignored_fields_ = std::move(facts.ignored_fields);
}

void CallRecord::note_deltas(const std::vector<llm::Delta>& deltas,
                             std::optional<TimePoint> first_at) {
  if (deltas.empty()) return;
  const std::scoped_lock lock(mutex_);
  RequestRecord& record = context_->record();
  if (first_at && !record.ttft) record.ttft = *first_at - arrived_at_;
  const auto count = static_cast<int32_t>(deltas.size());
  deltas_noted_ += count;
  if (ticket_) ticket_->received(clock_.now(), count);
  if (!context_->logs_answers()) return;
  for (const llm::Delta& delta : deltas) {
    const std::string& text = delta.raw.empty() ? delta.text : delta.raw;
    add_answer(record, static_cast<size_t>(delta.choice), text);
  }
}

void CallRecord::note_outcome(const llm::Outcome& outcome, bool was_sent) {
  const std::scoped_lock lock(mutex_);
  was_sent_ = was_sent_ || was_sent;
  RequestRecord& record = context_->record();
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  record.usage = answer != nullptr ? answer->usage : std::get<llm::Failure>(outcome).usage;
  if (answer == nullptr) return;
  if (context_->logs_answers()) set_answers(record, *answer);
  if (!answer->raw.empty()) return;  // an upstream does not say how long it took for what
  const Duration all = clock_.now() - arrived_at_;
  const Duration decode = std::chrono::milliseconds(answer->timings.decode_ms);
  const Duration prefill = std::chrono::milliseconds(answer->timings.prefill_ms);
  const Duration before_decode = std::max(all - decode, Duration{});
  // Mostly the dispatcher's queue, which a backend does not see.
  record.queue = std::max(before_decode - prefill, Duration{});
  if (!record.ttft && !answer->choices.empty()) record.ttft = before_decode;
}

void CallRecord::add_headers(http::Headers& headers) const {
  const std::scoped_lock lock(mutex_);
  if (context_) context_->add_headers(headers);
  const int64_t taken_ms = milliseconds(clock_.now() - arrived_at_);
  headers.add("openai-processing-ms", fmt::format_int(taken_ms).c_str());
  if (ignored_tokens_ > 0)
    headers.add("X-Windrow-Ignored-Tokens", fmt::format_int(ignored_tokens_).c_str());
  if (!ignored_fields_.empty()) headers.add("X-Windrow-Ignored-Fields", ignored_fields_);
}

dispatch::Priority CallRecord::priority() const {
  const std::scoped_lock lock(mutex_);
  return context_->record().priority;
}

void CallRecord::close(int status, const std::string& code, bool cancelled) {
  const std::scoped_lock lock(mutex_);
  RequestRecord& record = context_->record();
  record.status = status;
  record.code = code;
  // A delta has one token or more. An upstream that is cut off does not report what it used.
  record.usage.completion_tokens = std::max(record.usage.completion_tokens, deltas_noted_);
  const bool is_reported = record.usage.prompt_tokens > 0;
  record.cut_off = raw_ && cancelled && (was_sent_ || deltas_noted_ > 0) && !is_reported;
  context_.reset();
  ticket_.reset();
}

}  // namespace windrow::api
