// PlaceMaker: random places of a schema that say little: a type, bounds, members, items. They are
// what the keywords under test are about. Used by one thread.
#pragma once

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace windrow::keywords {

inline constexpr auto kSmallNames =
    std::to_array<std::string_view>({"a", "b", "c", "d", "x1", "x2", "yz"});
inline constexpr auto kNamePatterns =
    std::to_array<std::string_view>({"^x", "^[ab]$", "1$", "^.$", "b|c", "^[a-z]+$", "2"});

template <size_t Size>
std::string_view one_of(const std::array<std::string_view, Size>& from, Random& random) {
  return from[random.below(Size)];
}

class PlaceMaker {
 public:
  explicit PlaceMaker(Random& random) : random_(random) {}

 protected:
  template <class Make>
  boost::json::array list(int64_t min, int64_t max, const Make& make) {
    boost::json::array all;
    for (int64_t left = random_.between(min, max); left > 0; --left)
      all.push_back(make());
    return all;
  }

  boost::json::object typed_scalar();
  boost::json::object scalar();
  boost::json::object object(int depth);
  // What a branch or a condition says of an object: often only one thing.
  boost::json::object part_of_object();
  boost::json::object array(int depth);
  boost::json::object any(int depth);
  boost::json::value value(int depth);
  // In the order of the set or not.
  std::vector<std::string_view> some_names(int64_t min, int64_t max);
  boost::json::array names(int64_t min, int64_t max);
  void add_patterns(boost::json::object& at, int /*depth*/);

  Random& random_;

 private:
  boost::json::array type_names();
  boost::json::value member(int depth);
};

}  // namespace windrow::keywords
