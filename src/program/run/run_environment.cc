#include "program/run/run_environment.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::program {

namespace {

constexpr int32_t kLimitStatus = 422;

}  // namespace

llm::Failure program_failure(std::string_view code, std::string message) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = kLimitStatus,
          .code = std::string(code),
          .message = std::move(message),
          .param = {}};
}

llm::Failure internal_failure(const std::exception& error) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = "internal_error",
          .message = fmt::format("the program could not go on: {}", error.what()),
          .param = {}};
}

}  // namespace windrow::program
