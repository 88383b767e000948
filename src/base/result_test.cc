#include "base/result.h"

#include <gtest/gtest.h>

namespace windrow {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorKind::kInvalid, "odd"};
  return number / 2;
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(half(4).value(), 2);
  ASSERT_FALSE(half(3));
  EXPECT_EQ(half(3).error().message, "odd");
}

TEST(Result, ValueOfAFailureThrowsItsMessage) {
  EXPECT_THROW(
      {
        try {
          static_cast<void>(half(3).value());
        } catch (const std::logic_error& error) {
          EXPECT_STREQ(error.what(), "value() of a failed Result: odd");
          throw;
        }
      },
      std::logic_error);
}

TEST(Error, InPutsThePlaceInFront) {
  const Error error{ErrorKind::kIo, "no such file"};
  EXPECT_EQ(error.in("a.gguf").message, "a.gguf: no such file");
  EXPECT_EQ(error.in("a.gguf").kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace windrow
