// Result<T>: a T or the Error that prevented it. Expected failures are values; exceptions are
// defects or shortages, and are caught at main, at the root of a thread or at a request.
#pragma once

#include <boost/system/result.hpp>
#include <stdexcept>

#include "base/error.h"

namespace windrow {

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
