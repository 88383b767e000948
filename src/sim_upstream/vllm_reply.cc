#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <span>
#include <utility>

#include "sim_upstream/token_reply.h"

namespace windrow::sim_upstream {
namespace {

std::string head_of(const TokenReply& reply) {
  return fmt::format(R"({{"id":"cmpl-sim-{}","object":"text_completion","created":{},"model":{})",
                     reply.facts.number, reply.facts.created_s, in_quotes(reply.model));
}

// What a token is called in a reply.
std::string token_name(const TokenReply& reply, int32_t id) {
  return in_quotes(reply.wishes.ids_as_tokens ? fmt::format("token_id:{}", id)
                                              : token_text(reply.options, id));
}

// "logprobs" of tokens [begin, end); `offset`: of the first one in the text.
std::string logprobs_object(const TokenReply& reply, const TokenAnswer& answer, size_t begin,
                            size_t end, size_t offset) {
  if (!reply.wishes.logprobs) return "null";
  std::string offsets;
  std::string numbers;
  std::string names;
  std::string tops;
  for (size_t i = begin; i < std::min(end, answer.logprobs.size()); ++i) {
    const std::string_view comma = i == begin ? "" : ",";
    const std::string name = token_name(reply, answer.ids[i]);
    fmt::format_to(std::back_inserter(offsets), "{}{}", comma, offset);
    fmt::format_to(std::back_inserter(numbers), "{}{}", comma, answer.logprobs[i]);
    fmt::format_to(std::back_inserter(names), "{}{}", comma, name);
    fmt::format_to(std::back_inserter(tops), "{}{{{}:{}}}", comma, name, answer.logprobs[i]);
    offset += name.size() - 2;
  }
  return fmt::format(
      R"({{"text_offset":[{}],"token_logprobs":[{}],"tokens":[{}],"top_logprobs":[{}]}})", offsets,
      numbers, names, tops);
}

std::string ids_or_null(const TokenReply& reply, std::span<const int32_t> ids, bool wanted) {
  if (!wanted || !reply.tells_tokens) return "null";
  return fmt::format("[{}]", fmt::join(ids, ","));
}

// The reason; the token that ends every answer is the model's own, which is no stop_reason.
std::string_view reason_of(const TokenAnswer& answer) {
  return answer.cut ? "length" : "stop";
}

class CompletionStream : public EventSource {
 public:
  explicit CompletionStream(TokenReply reply) : reply_(std::move(reply)) {}

  std::string next(int64_t count) override {
    std::string events;
    const size_t end = made_ + static_cast<size_t>(count);
    for (size_t i = 0; i < reply_.answers.size(); ++i) {
      const TokenAnswer& answer = reply_.answers[i];
      if (made_ < answer.ids.size() || (made_ == 0 && answer.ids.empty()))
        events += event_of(i, answer, std::min(end, answer.ids.size()));
    }
    made_ = end;
    return events;
  }

  LongBody end(bool mark) override {
    std::string events;
    if (reply_.stream_usage) {
      events += sse(fmt::format(R"({},"choices":[],"usage":{}}})", head_of(reply_),
                                boost::json::serialize(usage_json(reply_.facts.usage))));
    }
    if (mark) events += sse("[DONE]");
    return LongBody(std::move(events));
  }

 private:
  std::string event_of(size_t index, const TokenAnswer& answer, size_t end) const {
    const auto place = [&](size_t token) {
      return text_end(answer.text, static_cast<int64_t>(token), std::ssize(answer.ids));
    };
    const size_t from = made_ == 0 ? 0 : place(made_);
    return sse(
        fmt::format(R"({},"choices":[{{"index":{},"text":{},"logprobs":{},"finish_reason":{},)"
                    R"("stop_reason":null,"prompt_token_ids":{},"token_ids":{}}}]}})",
                    head_of(reply_), index, in_quotes(answer.text.substr(from, place(end) - from)),
                    logprobs_object(reply_, answer, made_, end, from),
                    end == answer.ids.size() ? in_quotes(reason_of(answer)) : "null",
                    ids_or_null(reply_, answer.prompt, reply_.wishes.prompt_ids && made_ == 0),
                    ids_or_null(reply_, std::span(answer.ids).subspan(made_, end - made_),
                                reply_.wishes.prompt_ids)));
  }

  TokenReply reply_;
  size_t made_ = 0;
};

}  // namespace

LongBody vllm_completion_body(TokenReply reply) {
  LongBody body(head_of(reply) + R"(,"choices":[)");
  for (size_t i = 0; i < reply.answers.size(); ++i) {
    TokenAnswer& answer = reply.answers[i];
    body.add(fmt::format(
        R"({}{{"index":{},"text":{},"logprobs":{},"finish_reason":"{}","stop_reason":null,)"
        R"("token_ids":{},"prompt_logprobs":null,"prompt_token_ids":{},"routed_experts":)",
        i == 0 ? "" : ",", i, in_quotes(answer.text),
        logprobs_object(reply, answer, 0, answer.ids.size(), 0), reason_of(answer),
        ids_or_null(reply, answer.ids, reply.wishes.prompt_ids),
        ids_or_null(reply, answer.prompt, reply.wishes.prompt_ids)));
    if (answer.experts) {
      body.add("\"");
      body.add(*std::exchange(answer.experts, std::nullopt));
      body.add("\"}");
    } else {
      body.add("null}");
    }
  }
  body.add(fmt::format(
      R"(],"service_tier":null,"system_fingerprint":null,"usage":{},"kv_transfer_params":null}})",
      boost::json::serialize(usage_json(reply.facts.usage))));
  return body;
}

std::unique_ptr<EventSource> vllm_completion_stream(TokenReply reply) {
  return std::make_unique<CompletionStream>(std::move(reply));
}

}  // namespace windrow::sim_upstream
