// What the methods of FileStore and BatchService return: a value, or a failure as the API reports
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "llm/answer.h"

namespace windrow::batches {

template <class T>
using Reply = std::variant<T, llm::Failure>;

// The client of a request: it sees its own files and batches, or all.
struct Viewer {
  std::string key;  // the name of its API key; empty: none
  bool sees_all = false;

  bool sees(std::string_view owner) const { return sees_all || owner == key; }
};

// 404: it does not exist, or belongs to another key. `what` is "file" or "batch".
inline llm::Failure not_found(std::string_view what, std::string_view id) {
  constexpr size_t kShownBytes = 80;
  return {
      .failure_class = llm::FailureClass::kRequest,
      .status = 404,
      .code = what == "file" ? "file_not_found" : "batch_not_found",
      .message = "there is no " + std::string(what) + " " + std::string(id.substr(0, kShownBytes)),
      .param = "id"};
}

// 400, for a field.
inline llm::Failure invalid(std::string message, std::string param) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 400,
          .code = "invalid_value",
          .message = std::move(message),
          .param = std::move(param)};
}

// An error of the server's own disk or database: 507 if it is full, else 500. Without paths.
inline llm::Failure of_storage(const Error& error) {
  const bool is_full = error.kind == ErrorKind::kDiskFull;
  return {.failure_class = llm::FailureClass::kRequest,
          .status = is_full ? 507 : 500,
          .code = is_full ? "disk_full" : "storage_error",
          .message =
              is_full ? "the server's disk is full; delete files, or ask the operator to free space"
                      : "the server could not read or write its data; its log says why"};
}

}  // namespace windrow::batches
