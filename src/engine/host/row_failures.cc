#include "engine/host/row_failures.h"

#include <utility>

namespace windrow::engine {

llm::Failure cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled before it was answered"};
}

llm::Failure backend_failure(std::string_view why) {
  return {.failure_class = llm::FailureClass::kBackend,
          .status = 503,
          .code = "backend_unavailable",
          .message = std::string(why)};
}

llm::Failure row_failure(std::string_view code, std::string message) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = std::string(code),
          .message = std::move(message)};
}

llm::Failure out_of_memory() {
  return row_failure("out_of_memory",
                     "there was not memory enough to make this answer; ask for less at once: fewer "
                     "answers, tokens, log-probabilities or inputs");
}

llm::Failure too_complex() {
  return {.code = "structure_too_complex",
          .message =
              "the structure can be read in too many ways at once to go on here; write it "
              "with fewer repetitions inside each other, or so that one reading is left",
          .param = "response_format"};
}

llm::Failure token_refused() {
  return row_failure(
      "engine_error",
      "a token that the structure of the answer allowed was then not accepted, which "
      "is a defect of Windrow; please report it with the schema, and ask with a "
      "simpler one");
}

}  // namespace windrow::engine
