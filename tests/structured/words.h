// Names and texts as schemas of real work have them: a domain's nouns, written in the style of one
// team. Pure; the same random numbers give the same words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace windrow::structured {

template <typename T>
const T& pick(Random& random, std::span<const T> from) {
  return from[random.below(from.size())];
}

template <typename T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

enum class NameStyle { kSnake, kCamel, kKebab, kOdd };

// The names of one schema: of one domain and in one style, and no name twice in one object.
class Names {
 public:
  explicit Names(Random& random);

  std::string member(Random& random) const;  // as "delivered_at"
  std::string type(Random& random) const;    // as "DeliveryRoute"
  std::string value(Random& random) const;   // as an enum has it, "in_transit"

 private:
  size_t domain_ = 0;
  NameStyle style_ = NameStyle::kSnake;
};

// Some words of prose, now and then with other scripts, quotes, breaks and emoji in it. UTF-8, no
// surrogates, nothing escaped.
std::string prose(Random& random, size_t words_max);

}  // namespace windrow::structured
