// What the methods of MemoryService return: a value, or a failure as the API reports it.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "llm/answer.h"

namespace windrow::memory {

template <class T>
using Reply = std::variant<T, llm::Failure>;

// The client of a request: it sees its own banks, or all.
struct Viewer {
  std::string key;  // the name of its API key; empty: none
  bool sees_all = false;

  bool sees(std::string_view owner) const { return sees_all || owner == key; }
};

// 404, 409, 422 and so on for the kinds of errors of a bank; 507 for a full disk, else 500. `what`
// names the thing in the message: "bank", "operation".
llm::Failure failure_of(const Error& error, std::string_view what);

llm::Failure invalid(std::string message, std::string param);

}  // namespace windrow::memory
