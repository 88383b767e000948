#include "base/error.h"

#include <fmt/format.h>

namespace windrow {

std::string_view to_string(ErrorKind kind) {
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

Error Error::in(std::string_view place) const& {
  return Error{kind, fmt::format("{}: {}", place, message)};
}

}  // namespace windrow
