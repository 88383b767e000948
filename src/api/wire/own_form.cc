#include "api/wire/own_form.h"

#include <optional>
#include <utility>
#include <variant>

#include "llm/raw_answer.h"

namespace windrow::api {

namespace {

bool says_something(const llm::Answer& answer, llm::Endpoint endpoint) {
  return endpoint == llm::Endpoint::kEmbeddings ? !answer.embeddings.empty()
                                                : !answer.choices.empty();
}

}  // namespace

llm::Outcome in_own_form(llm::Endpoint endpoint, const Origins& origins, llm::Outcome outcome) {
  if (auto* failure = std::get_if<llm::Failure>(&outcome))
    return origins.to_client(std::move(*failure));
  const llm::Answer& answer = std::get<llm::Answer>(outcome);
  if (answer.raw.empty()) return outcome;
  std::optional<llm::Answer> read = endpoint == llm::Endpoint::kEmbeddings
                                        ? llm::read_raw_embeddings(answer.raw)
                                        : llm::read_raw_answer(answer.raw);
  if (!read || !says_something(*read, endpoint)) {
    return llm::Failure{
        .failure_class = llm::FailureClass::kTransient,
        .status = 502,
        .code = "invalid_reply",
        .message = "the server that was asked sent what is no answer to this request",
        .usage = answer.usage};
  }
  read->truncated = answer.truncated;
  read->timings = answer.timings;
  return *std::move(read);
}

}  // namespace windrow::api
