// How values are looked into, as Jinja2's sandbox allows it: attributes, items, slices, and paths
// of attributes. A missing one is an undefined Value, which knows its name for the error message.
#pragma once

#include <vector>

#include "jinja/runtime.h"
#include "jinja/text.h"
#include "jinja/value.h"

namespace windrow::jinja {

// obj.name, obj['name'] or obj[0], and obj[a:b:c]. Fail if `object` is undefined, and slices also
// if it has no order.
Value get_attribute(Runtime& runtime, const Value& object, const TextPtr& name);
Value get_item(Runtime& runtime, const Value& object, const Value& index);
Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
                const Value& step);

// The attribute itself, without the fallback to items. Returns false if there is none.
bool find_attribute(Runtime& runtime, const Value& object, const TextPtr& name, Value& value);

// "author.name" and "tags.0": how filters such as sort(attribute=...) look into items.
class AttributePath {
 public:
  // A string of names and indices with dots, an integer, or none: the item itself.
  explicit AttributePath(const Value& attribute, const Value* otherwise = nullptr);

  // The value at this path in `item`; `otherwise` if a part of it is undefined.
  Value of(Runtime& runtime, const Value& item) const;

 private:
  std::vector<Value> parts_;
  Value otherwise_;
  bool has_otherwise_ = false;
};

}  // namespace windrow::jinja
