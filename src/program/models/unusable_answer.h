// The failure of a call whose server, or model, sent an answer that cannot be used. Pure.
#pragma once

#include <string>
#include <utility>

#include "llm/answer.h"

namespace windrow::program {

inline llm::Failure unusable_answer(std::string message) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = "unusable_answer",
          .message = std::move(message),
          .param = {},
          .answered = true};
}

}  // namespace windrow::program
