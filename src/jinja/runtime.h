// Runtime: the state of one rendering: the budget, the options, and the objects that can change.
// The objects may refer to each other in any way; they are destroyed together with it. Used by one
// thread. Functions throw Failure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
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

  // The truth of a condition: truth() of value.h, but fails where undefined values do.
  bool condition(const Value& value) const {
    check_defined(value);
    return truth(value);
  }

  // Fails for an undefined value where the options say so.
  void check_defined(const Value& value) const;

  // Calls a callable value; fails for others.
  Value call(const Value& callable, Arguments& arguments);

 private:
  std::vector<std::unique_ptr<Object>> objects_;
};

// --- functions of Python that need a Runtime -----------------------------------------------------

int64_t length_of(const Value& value);  // Python's len; fails for values without a length
bool contains(Runtime& runtime, const Value& container, const Value& value);

// str(value). A text is returned as it is; undefined becomes the empty text.
TextPtr to_text(Runtime& runtime, const Value& value);
void append_text(Runtime& runtime, TextBuilder& out, const Value& value);

// repr(value).
void append_repr(Runtime& runtime, TextBuilder& out, const Value& value);

// The indices 0..count-1 in the order of less(i, j): a merge sort, which is stable, and safe if the
// comparison throws or is no strict order (NaN < 1).
template <class Less>
std::vector<size_t> stable_order(size_t count, Less&& less) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<size_t> merged(count);
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count);
      const size_t end = std::min(begin + 2 * width, count);
      size_t left = begin;
      size_t right = middle;
      for (size_t at = begin; at < end; ++at) {
        const bool take_right = left == middle || (right < end && less(order[right], order[left]));
        merged[at] = order[take_right ? right++ : left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace windrow::jinja
