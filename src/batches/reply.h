// What the methods of FileStore and BatchService return: a value, or a failure as the API reports
// it.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "llm/answer.h"

namespace windrow::batches {

template <class T>
using Reply = std::variant<T, llm::Failure>;

// The client of a request, who sees its own files and batches, or all.
struct Viewer {
  std::string key;  // the name of its API key; empty: none
  bool sees_all = false;

  bool sees(std::string_view owner) const { return sees_all || owner == key; }
};

// 404: it does not exist, or belongs to another key. `what` is "file" or "batch".
llm::Failure not_found(std::string_view what, std::string_view id);

// 400, for a field.
llm::Failure invalid(std::string message, std::string param);

// An error of the server's own disk or database: 507 if it is full, else 500. Without paths.
llm::Failure of_storage(const Error& error);

}  // namespace windrow::batches
