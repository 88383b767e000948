// "author.name" and "tags.0": how filters such as sort(attribute=...) look into items.
#pragma once

#include <vector>

#include "jinja/runtime.h"

namespace windrow::jinja {

class AttributePath {
 public:
  // A string of names and indices with dots, an integer, or none: the item itself.
  explicit AttributePath(const Value& attribute, const Value* otherwise = nullptr);

  // What is there; `otherwise` when a part is not defined.
  Value of(Runtime& runtime, const Value& item) const;

 private:
  std::vector<Value> parts_;
  Value otherwise_;
  bool has_otherwise_ = false;
};

// Texts in lower case, all else as it is: what is compared when case does not matter.
Value without_case(Runtime& runtime, const Value& value);

}  // namespace windrow::jinja
