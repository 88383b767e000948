// Runtime: the state of one rendering: the budget, the options, and the objects that can change.
// The objects may refer to each other in any way; they are destroyed together with it. Used by one
// thread. Functions throw Failure.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/budget.h"
#include "jinja/template.h"
#include "jinja/value.h"

namespace windrow::jinja {

class Runtime {
 public:
  explicit Runtime(const RenderOptions& render_options)
      : budget(render_options.limits), options(render_options) {}
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Budget budget;
  const RenderOptions& options;

  // Makes an object, which lives as long as this.
  template <class T, class... A>
  T* make(A&&... arguments) {
    budget.spend(4);
    auto owned = std::make_unique<T>(std::forward<A>(arguments)...);
    T* made = owned.get();
    objects_.push_back(std::move(owned));
    return made;
  }

  Value text(std::string_view bytes, Origin origin = Origin::kTemplate);
  Value list(std::vector<Value> items, ListKind kind = ListKind::kList,
             Origin origin = Origin::kTemplate);
  Value tuple(std::vector<Value> items) { return list(std::move(items), ListKind::kTuple); }
  // For equal keys the last value counts, at the position of the first. Fails for unhashable keys.
  Value dict(std::vector<Dict::Entry> entries, Origin origin = Origin::kTemplate);
  Value integer(Integer value, Origin origin = Origin::kTemplate);  // fails if out of range

  // Fail for values that cannot be iterated over.
  std::unique_ptr<Iterator> iterate(const Value& value);
  std::vector<Value> collect(const Value& value);

  // The functions of value.h, with their steps counted.
  bool equal(const Value& a, const Value& b);
  bool is_less(const Value& a, const Value& b);

  // Calls a callable value; fails for others.
  Value call(const Value& callable, Arguments& arguments);

 private:
  std::vector<std::unique_ptr<Object>> objects_;
};

int64_t length_of(const Value& value);  // Python's len; fails for values without a length
bool contains(Runtime& runtime, const Value& container, const Value& value);

}  // namespace windrow::jinja
