// How a parse or a rendering ends early. Inside this module that is an exception, because it ends
// everything from any depth; Template::parse and Template::render are the doors it stops at.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace windrow::jinja {

struct Failure {
  enum class Kind : uint8_t {
    kTemplate,  // what the template says cannot be done
    kRaised,    // raise_exception: message is the template's own
    kLimit,
  };

  Kind kind = Kind::kTemplate;
  std::string message;
  size_t offset = kHere;  // into the source

  static constexpr size_t kHere = static_cast<size_t>(-1);  // where the interpreter is
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
