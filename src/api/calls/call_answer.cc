#include "api/calls/call_answer.h"

#include <exception>
#include <new>
#include <utility>

#include "api/wire/refusals.h"
#include "api/wire/stream_text.h"
#include "api/wire/translation.h"

namespace windrow::api {
namespace {

// How long an answer is as the body of a reply: a number of an embedding, of four bytes, has about
// twelve there.
size_t estimated_text_bytes(const llm::Answer& answer) {
  size_t bytes = llm::bytes_of(answer);
  for (const std::vector<float>& embedding : answer.embeddings)
    bytes += 2 * embedding.size() * sizeof(float);
  return bytes + bytes / 4;
}

StreamShape shape_of(const CallPlan& plan, const ReplyFacts& facts) {
  const llm::Request& request = plan.request;
  return {.endpoint = facts.endpoint,
          .id = facts.id,
          .model = facts.model,
          .created_unix_s = facts.created_unix_s,
          .service_tier = facts.service_tier,
          .system_fingerprint = facts.system_fingerprint,
          .usage = plan.envelope.stream_usage,
          .logprobs = request.logprobs_top.has_value(),
          .structured = request.structured.has_value() || !request.chat.tools.empty()};
}

}  // namespace

void CallAnswer::prepare(ReplyFacts facts, CallPlan& plan) {
  facts_ = std::move(facts);
  origins_ = std::move(plan.origins);
  kept_ = std::move(plan.kept);
}

std::unique_ptr<AnswerStream> CallAnswer::make_stream(const CallPlan& plan) {
  if (facts_.dialect == Dialect::kOwn) return std::make_unique<StreamText>(shape_of(plan, facts_));
  return stream_in_dialect(
      facts_, [self = shared_from_this()](std::string_view body, std::vector<std::string> ids) {
        self->keep_response(body, std::move(ids));
      });
}

llm::Outcome CallAnswer::accept(llm::Outcome outcome) {
  const auto* answer = std::get_if<llm::Answer>(&outcome);
  const llm::Usage usage = answer != nullptr ? answer->usage : llm::Usage{};
  llm::Failure failure;
  try {
    // An embedded engine has counted its answer as it grew; those of upstreams, and answers shared
    // with another request, are counted here.
    if (answer == nullptr || share_->grow_to(llm::bytes_of(*answer))) {
      if (facts_.dialect == Dialect::kOwn) return outcome;
      return to_canonical(facts_.endpoint, origins_, std::move(outcome));
    }
    failure = llm::no_room_for_answer();
  } catch (const std::bad_alloc&) {
    failure = no_memory("to read this answer");
  }
  failure.usage = usage;
  return failure;
}

std::variant<http::ServerReply, llm::Failure> CallAnswer::write(const llm::Answer& answer) {
  llm::Failure failure;
  try {
    // While it is written both the answer and the text are in memory.
    if (!share_->grow(estimated_text_bytes(answer))) {
      failure = llm::no_room_for_answer();
      failure.usage = answer.usage;
      return failure;
    }
    http::ServerReply reply{.body = reply_body(facts_, answer)};
    share_->shrink_to(reply.body.size());
    if (kept_) keep_response(reply.body, output_ids(facts_, answer));
    return reply;
  } catch (const std::bad_alloc&) {
    failure = no_memory("to write this answer");
  } catch (const std::exception&) {
    failure = unexpected("write this answer");
  }
  failure.usage = answer.usage;
  return failure;
}

// Once. The client gets its answer even if the response could not be kept.
void CallAnswer::keep_response(std::string_view body, std::vector<std::string> item_ids) {
  if (!kept_) return;
  try {
    kept_->body = body;
    kept_->output_ids = std::move(item_ids);
    responses_.keep(key_, std::move(*kept_));
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace windrow::api
