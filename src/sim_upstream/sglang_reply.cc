#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <span>
#include <utility>

#include "sim_upstream/token_reply.h"

namespace windrow::sim_upstream {
namespace {

std::string request_id(const TokenReply& reply) {
  return fmt::format("sim-{}", reply.facts.number);
}

std::string finish_object(const TokenReply& reply) {
  const TokenAnswer& answer = reply.answers.front();
  return answer.cut ? fmt::format(R"({{"type":"length","length":{}}})", answer.ids.size())
                    : fmt::format(R"({{"type":"stop","matched":{}}})", reply.options.end_id);
}

// Items of output_token_logprobs: [log-probability, id, text or null].
std::string logprob_items(const TokenReply& reply, size_t begin, size_t end, bool with_text) {
  const TokenAnswer& answer = reply.answers.front();
  std::string items;
  for (size_t i = begin; i < std::min(end, answer.logprobs.size()); ++i) {
    fmt::format_to(std::back_inserter(items), "{}[{},{},{}]", items.empty() ? "" : ",",
                   answer.logprobs[i], answer.ids[i],
                   with_text ? in_quotes(token_text(reply.options, answer.ids[i])) : "null");
  }
  return items;
}

// Members of meta_info up to its rows. Tokens [begin, end) of the answer are told in it; all up to
// `end` are made.
std::string meta_members(const TokenReply& reply, size_t begin, size_t end, bool finished) {
  std::string text =
      fmt::format(R"("id":"{}","finish_reason":{},"prompt_tokens":{},"weight_version":{},)"
                  R"("num_retractions":0)",
                  request_id(reply), finished ? finish_object(reply) : "null",
                  reply.facts.usage.prompt_tokens, in_quotes(reply.options.weight_version));
  if (reply.wishes.logprobs) {
    text += fmt::format(R"(,"input_token_logprobs":[],"output_token_logprobs":[{}],)"
                        R"("output_token_logprobs_length":{})",
                        logprob_items(reply, begin, end, reply.wishes.form == TokenForm::kMetaInfo),
                        std::min(end, reply.answers.front().logprobs.size()));
  }
  return text + fmt::format(R"(,"reasoning_tokens":0,"completion_tokens":{},"cached_tokens":{})",
                            end, reply.facts.usage.cached_tokens);
}

// The whole meta_info of a finished answer that tells tokens from `begin` on. Takes the rows.
LongBody meta_info(TokenReply& reply, size_t begin) {
  TokenAnswer& answer = reply.answers.front();
  LongBody body("{" + meta_members(reply, begin, answer.ids.size(), true));
  if (answer.experts) {
    body.add(R"(,"routed_experts":")");
    body.add(*std::exchange(answer.experts, std::nullopt));
    body.add("\"");
  }
  if (answer.indexer) {
    body.add(R"(,"indexer_topk":")");
    body.add(*std::exchange(answer.indexer, std::nullopt));
    body.add(fmt::format(R"(","indexer_topk_num_layers":{})", reply.options.indexer_layers));
  }
  body.add(fmt::format(R"(,"e2e_latency":{},"response_sent_to_client_ts":{}}})", reply.latency_s,
                       reply.facts.created_s));
  return body;
}

std::string chat_logprobs(const TokenReply& reply) {
  if (!reply.wishes.logprobs) return "null";
  const TokenAnswer& answer = reply.answers.front();
  std::string items;
  for (size_t i = 0; i < answer.logprobs.size(); ++i) {
    const std::string text = token_text(reply.options, answer.ids[i]);
    fmt::format_to(
        std::back_inserter(items),
        R"({}{{"token":{},"bytes":[{}],"logprob":{},"top_logprobs":[]}})", items.empty() ? "" : ",",
        in_quotes(text),
        fmt::join(std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()), ","),
        answer.logprobs[i]);
  }
  return fmt::format(R"({{"content":[{}]}})", items);
}

// The events of /generate. The last one, which has the rows and the reason, is part of the end, so
// that it is made while it is sent.
class GenerateStream : public EventSource {
 public:
  explicit GenerateStream(TokenReply reply) : reply_(std::move(reply)) {}

  std::string next(int64_t count) override {
    const TokenAnswer& answer = reply_.answers.front();
    const size_t end = std::min(answer.ids.size(), made_ + static_cast<size_t>(count));
    if (end == answer.ids.size()) return {};
    const size_t begin = told_from();
    std::string meta = reply_.tells_tokens ? fmt::format(R"(,"meta_info":{{{}}})",
                                                         meta_members(reply_, begin, end, false))
                                           : "";
    std::string event = sse(fmt::format("{{{}{}}}", output(begin, end), meta));
    made_ = end;
    return event;
  }

  LongBody end(bool mark) override {
    const size_t begin = told_from();
    LongBody body(fmt::format("data: {{{}", output(begin, reply_.answers.front().ids.size())));
    if (reply_.tells_tokens) {
      body.add(R"(,"meta_info":)");
      body.add(meta_info(reply_, begin));
    }
    body.add("}\n\n");
    if (mark) body.add(sse("[DONE]"));
    return body;
  }

 private:
  size_t told_from() const { return reply_.options.incremental ? made_ : 0; }

  // The members before meta_info. Texts are cut where tokens are, as near as words allow.
  std::string output(size_t begin, size_t end) const {
    const TokenAnswer& answer = reply_.answers.front();
    const auto place = [&](size_t token) {
      return text_end(answer.text, static_cast<int64_t>(token), std::ssize(answer.ids));
    };
    return fmt::format(R"("text":{},"output_ids":[{}])",
                       in_quotes(answer.text.substr(place(begin), place(end) - place(begin))),
                       fmt::join(std::span(answer.ids).subspan(begin, end - begin), ","));
  }

  TokenReply reply_;
  size_t made_ = 0;
};

}  // namespace

LongBody sglang_chat_body(TokenReply reply) {
  TokenAnswer& answer = reply.answers.front();
  const std::optional<RowsText> again =
      reply.options.routing_twice ? answer.experts : std::optional<RowsText>();
  LongBody body(fmt::format(
      R"({{"id":"{}","object":"chat.completion","created":{},"model":{},"choices":[{{"index":0,)"
      R"("message":{{"role":"assistant","content":{},"reasoning_content":null,"tool_calls":null}},)"
      R"("logprobs":{},"finish_reason":"{}","matched_stop":{})",
      request_id(reply), reply.facts.created_s, in_quotes(reply.model),
      reply.facts.null_content ? "null" : in_quotes(answer.text), chat_logprobs(reply),
      answer.cut ? "length" : "stop",
      answer.ends ? fmt::format("{}", reply.options.end_id) : "null"));
  if (reply.wishes.prompt_ids)
    body.add(fmt::format(R"(,"prompt_token_ids":[{}])", fmt::join(answer.prompt, ",")));
  if (reply.tells_tokens) {
    body.add(R"(,"meta_info":)");
    body.add(meta_info(reply, 0));
  }
  body.add(fmt::format(R"(}}],"usage":{},"metadata":{{"weight_version":{}}})",
                       boost::json::serialize(usage_json(reply.facts.usage)),
                       in_quotes(reply.options.weight_version)));
  if (again) {
    body.add(R"(,"sglext":{"routed_experts":")");
    body.add(*again);
    body.add("\"}");
  }
  body.add("}");
  return body;
}

LongBody sglang_generate_body(TokenReply reply) {
  TokenAnswer& answer = reply.answers.front();
  LongBody body(fmt::format(R"({{"text":{},"output_ids":[{}])", in_quotes(answer.text),
                            fmt::join(answer.ids, ",")));
  if (reply.tells_tokens) {
    body.add(R"(,"meta_info":)");
    body.add(meta_info(reply, 0));
  }
  if (reply.wishes.prompt_ids)
    body.add(fmt::format(R"(,"prompt_token_ids":[{}])", fmt::join(answer.prompt, ",")));
  body.add("}");
  return body;
}

std::unique_ptr<EventSource> sglang_generate_stream(TokenReply reply) {
  return std::make_unique<GenerateStream>(std::move(reply));
}

}  // namespace windrow::sim_upstream
