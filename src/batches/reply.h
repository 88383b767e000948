// What files and batches answer with when they cannot do what is asked, in the words of the API.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "llm/answer.h"

namespace windrow::batches {

template <class T>
using Reply = std::variant<T, llm::Failure>;

// Who asks: sees what is theirs, or everything.
struct Viewer {
  std::string key;  // its name; empty where nobody needs one
  bool sees_all = false;

  bool sees(std::string_view owner) const { return sees_all || owner == key; }
};

// 404: there is none, or it is somebody else's.
llm::Failure not_found(std::string_view what, std::string_view id);  // "file" or "batch"

// 400, of a field.
llm::Failure invalid(std::string message, std::string param);

// The server's own disk or database: 507 where it is full, else 500. Says nothing of paths.
llm::Failure of_storage(const Error& error);

}  // namespace windrow::batches
