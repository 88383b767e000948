// Error: an expected failure, with a kind that programs act on and a message that people act on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace windrow {

enum class ErrorKind : uint8_t {
  kInvalid,      // a flag, file or request cannot be used
  kNotFound,     // the named thing does not exist
  kConflict,     // it exists, but its state forbids this (locked, changed, already there)
  kDiskFull,     // no space, quota or file size limit
  kIo,           // the operating system refused a read or a write for another reason
  kNoSpace,      // the memory of the model is too small: try with less
  kUnavailable,  // the model or its device cannot do this, now or ever
};

std::string_view to_string(ErrorKind kind);

// The message says what went wrong, where, and what to do next, in that order. It is shown to
// people as it is, so it starts in lower case and has no final full stop.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string message;

  // The same error with its place in front: "FILE: message".
  Error in(std::string_view place) const&;

  friend bool operator==(const Error&, const Error&) = default;
};

}  // namespace windrow
