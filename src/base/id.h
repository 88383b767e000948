// Id<Tag>: a number that compares only with ids of the same tag, so that a row cannot be taken for
// a sequence by mistake.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace windrow {

template <class Tag, class Rep = uint64_t>
class Id {
 public:
  using rep = Rep;

  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = 0;
};

}  // namespace windrow

template <class Tag, class Rep>
struct std::hash<windrow::Id<Tag, Rep>> {
  size_t operator()(windrow::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
