// Failure: the exception that ends a parse or a rendering from any depth. It never leaves this
// module: Template::parse and Template::render turn it into an Error.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace windrow::jinja {

struct Failure {
  enum class Kind : uint8_t {
    kTemplate,  // an error in the template, or with these variables
    kRaised,    // raise_exception: the message is the template's own
    kLimit,
  };

  Kind kind = Kind::kTemplate;
  std::string message;
  size_t offset = kHere;  // in the source

  static constexpr size_t kHere = static_cast<size_t>(-1);  // the position of the interpreter
};

template <class... Arguments>
[[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Failure{.message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

template <class... Arguments>
[[noreturn]] void fail_at(size_t offset, fmt::format_string<Arguments...> format,
                          Arguments&&... arguments) {
  throw Failure{.message = fmt::format(format, std::forward<Arguments>(arguments)...),
                .offset = offset};
}

}  // namespace windrow::jinja
