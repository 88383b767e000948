#include "llm/completion_fields.h"

#include <fmt/format.h>

#include "llm/inputs_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

// Every choice of every prompt is there at once when the answer is written.
constexpr int64_t kAnswersMax = 4096;

}  // namespace

Problem read_prompt(std::string_view name, const json::value& value, Draft& draft) {
  return read_inputs(name, value, draft.request.inputs);
}

Problem read_echo(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.request.echo);
}

Problem read_logprobs_count(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 0, kTopLogprobsMax, draft.request.logprobs_top.emplace());
}

Problem read_best_of(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 1, kIntegerMax, draft.best_of.emplace());
}

Problem settle_completions(Draft& draft) {
  const Request& request = draft.request;
  if (draft.max_tokens == 0 && !request.echo) {
    return bad_value("max_tokens",
                     "max_tokens is 0, which scores a prompt and needs echo: true; without echo it "
                     "must be 1 or more");
  }
  const int64_t answers = int64_t{request.choices} * static_cast<int64_t>(request.inputs.size());
  if (answers > kAnswersMax) {
    return bad_value("n",
                     fmt::format("{} prompts with n {} make {} answers at once; at most {} "
                                 "are accepted, so spread them over several requests",
                                 request.inputs.size(), request.choices, answers, kAnswersMax));
  }
  if (draft.best_of && *draft.best_of != request.choices) {
    return unsupported(
        "best_of", fmt::format("best_of is {} and n is {}; they must be the same, because answers "
                               "are not ranked: ask for more with n",
                               *draft.best_of, request.choices));
  }
  return std::nullopt;
}

}  // namespace windrow::llm
