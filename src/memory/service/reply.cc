#include "memory/service/reply.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::memory {

llm::Failure failure_of(const Error& error, std::string_view what) {
  switch (error.kind) {
    case ErrorKind::kNotFound:
      return {.status = 404, .code = fmt::format("{}_not_found", what), .message = error.message};
    case ErrorKind::kConflict:
      return {.status = 409, .code = fmt::format("{}_conflict", what), .message = error.message};
    case ErrorKind::kInvalid:
      return {.status = 422, .code = fmt::format("invalid_{}", what), .message = error.message};
    case ErrorKind::kDiskFull:
      return {.failure_class = llm::FailureClass::kTransient,
              .status = 507,
              .code = "disk_full",
              .message = error.message};
    case ErrorKind::kUnavailable:
      return {.status = 503, .code = fmt::format("{}_unavailable", what), .message = error.message};
    case ErrorKind::kIo:
    case ErrorKind::kNoSpace:
      break;
  }
  return {
      .status = 500,
      .code = "storage_failed",
      .message = fmt::format("{}: {}; the log of the server may say more", what, error.message)};
}

llm::Failure invalid(std::string message, std::string param) {
  return {.status = 400,
          .code = "invalid_value",
          .message = std::move(message),
          .param = std::move(param)};
}

}  // namespace windrow::memory
