// What an expected failure is: a kind a program can act on and a text a person can act on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace windrow {

enum class ErrorKind : uint8_t {
  kInvalid,      // what was given cannot be used: a flag, a file, a request
  kNotFound,     // what was named does not exist
  kConflict,     // it exists, but in a state that forbids this (locked, changed, already there)
  kDiskFull,     // no space, quota or file size limit
  kIo,           // the operating system refused a read or a write for another reason
  kNoSpace,      // no room in memory of the model: try with less
  kUnavailable,  // the model or its device cannot do this, now or ever
};

std::string_view to_string(ErrorKind kind);

// The message says what went wrong, where, and what to do next, in that order. It is shown to
// people as it is, so it starts in lower case and has no final full stop.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string message;

  // The same error with the place it happened in front: "FILE: message".
  Error in(std::string_view place) const&;

  friend bool operator==(const Error&, const Error&) = default;
};

}  // namespace windrow
