#include "memory/service/reply.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::memory {

llm::Failure failure_of(const Error& error, std::string_view what) {
  llm::Failure failure{.failure_class = llm::FailureClass::kRequest,
                       .status = 500,
                       .code = "storage_error",
                       .message = error.message,
                       .param = {}};
  switch (error.kind) {
    case ErrorKind::kInvalid:
      failure.status = 400;
      failure.code = "invalid_value";
      break;
    case ErrorKind::kNotFound:
      failure.status = 404;
      failure.code = fmt::format("{}_not_found", what);
      break;
    case ErrorKind::kConflict:
      failure.status = 409;
      failure.code = "conflict";
      break;
    case ErrorKind::kDiskFull:
      failure.status = 507;
      failure.code = "disk_full";
      failure.message =
          "the server's disk is full, and nothing was stored; ask the operator to free space";
      break;
    case ErrorKind::kIo:
    case ErrorKind::kNoSpace:
    case ErrorKind::kUnavailable:
      failure.message = "the server could not read or write the bank; its log says why";
      break;
  }
  return failure;
}

llm::Failure invalid(std::string message, std::string param) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 400,
          .code = "invalid_value",
          .message = std::move(message),
          .param = std::move(param)};
}

}  // namespace windrow::memory
