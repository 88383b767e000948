#include "batches/reply.h"

#include <fmt/format.h>

#include <utility>

namespace windrow::batches {

llm::Failure not_found(std::string_view what, std::string_view id) {
  constexpr size_t kShownBytes = 80;
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 404,
          .code = what == "file" ? "file_not_found" : "batch_not_found",
          .message = fmt::format("there is no {} {}", what, id.substr(0, kShownBytes)),
          .param = "id"};
}

llm::Failure invalid(std::string message, std::string param) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 400,
          .code = "invalid_value",
          .message = std::move(message),
          .param = std::move(param)};
}

llm::Failure of_storage(const Error& error) {
  if (error.kind == ErrorKind::kDiskFull) {
    return {
        .failure_class = llm::FailureClass::kRequest,
        .status = 507,
        .code = "disk_full",
        .message = "the server's disk is full; delete files, or ask the operator to free space"};
  }
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 500,
          .code = "storage_error",
          .message = "the server could not read or write its data; its log says why"};
}

}  // namespace windrow::batches
