#include "batch/truncated.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <string>

#include "batch/result_line.h"
#include "llm/answer_json.h"

namespace windrow::batch {
namespace {

// At a stop text, where it was not at a limit. Of a server elsewhere it is not known.
bool at_stop_text(const llm::Answer& answer) {
  return std::ranges::any_of(answer.choices, [](const llm::Choice& choice) {
    return choice.structure == llm::StructureLabel::kTruncated &&
           choice.finish_reason == llm::FinishReason::kStop;
  });
}

}  // namespace

llm::Failure truncated_failure(const RowKey& key, llm::Endpoint endpoint, std::string_view model,
                               const llm::Answer& answer, int64_t created_unix_s,
                               const RowWords* words) {
  const bool stop = at_stop_text(answer);
  llm::Failure failure{
      .status = 422,
      .code = "truncated_structured_output",
      .message =
          stop
              ? "a stop text cut the answer before its structure or call was whole; take out stop, "
                "or accept such answers with --keep-truncated"
              : "the answer reached max_tokens, or the end of the context, before its "
                "structure or call was whole; raise max_tokens, or accept such answers with "
                "--keep-truncated",
      .param = stop ? "stop" : "max_tokens",
      .usage = answer.usage};
  std::string body = boost::json::serialize(llm::failure_to_json(failure));
  body.pop_back();
  body += R"(,"answer":)";
  body += answer.raw.empty() ? answer_body(key, endpoint, model, answer, created_unix_s, words)
                             : answer.raw;
  body += '}';
  failure.raw = std::move(body);
  return failure;
}

}  // namespace windrow::batch
