// Error: an expected failure, with a kind that programs act on and a message that people act on.
// Result<T>: a T or the Error that prevented it. Expected failures are values; exceptions are
// defects or shortages, and are caught at main, at the root of a thread or at a request.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

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

constexpr std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kNotFound:
      return "not found";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kDiskFull:
      return "disk full";
    case ErrorKind::kIo:
      return "input/output";
    case ErrorKind::kNoSpace:
      return "no space";
    case ErrorKind::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

// The message says what went wrong, where, and what to do next, in that order. It is shown to
// people as it is, so it starts in lower case and has no final full stop.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string message;

  // The same error with its place in front: "FILE: message".
  Error in(std::string_view place) const& {
    return Error{kind, std::string(place) + ": " + message};
  }

  friend bool operator==(const Error&, const Error&) = default;
};

// boost::system::result with Error, and [[nodiscard]], so that no failure can be ignored by
// mistake. Calling value() on a failure is a programming error and throws std::logic_error.
template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

template <>
class [[nodiscard]] Result<void> : public boost::system::result<void, Error> {
 public:
  using boost::system::result<void, Error>::result;
};

// Found by boost::system::result when value() is called on a failure.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw std::logic_error("value() of a failed Result: " + error.message);
}

}  // namespace windrow
