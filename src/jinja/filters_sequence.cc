// Filters of lists and other sequences.
#include <algorithm>
#include <functional>

#include "jinja/attributes.h"
#include "jinja/builtins.h"
#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/iterables.h"
#include "jinja/number.h"
#include "jinja/runtime.h"
#include "jinja/text_functions.h"

namespace windrow::jinja {
namespace {

// An iterator that computes its values on first use, as Python's generators do.
class Deferred final : public Iterator {
 public:
  explicit Deferred(std::function<std::vector<Value>()> make) : make_(std::move(make)) {}
  bool next(Value& value) override {
    if (make_) {
      values_ = make_();
      make_ = nullptr;
    }
    if (at_ == values_.size()) return false;
    value = values_[at_++];
    return true;
  }

 private:
  std::function<std::vector<Value>()> make_;
  std::vector<Value> values_;
  size_t at_ = 0;
};

Value deferred(Runtime& runtime, const char* type, std::function<std::vector<Value>()> make) {
  return Value(runtime.make<Generator>(type, std::make_unique<Deferred>(std::move(make))));
}

Value none_or(const Value* value) {
  return value == nullptr ? Value(None{}) : *value;
}

Value length(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "length", {}, 0);
  runtime.check_defined(input);
  return Value::integer(length_of(input));
}

Value list(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "list", {}, 0);
  return runtime.list(runtime.collect(input));
}

Value first(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "first", {}, 0);
  Value value;
  if (runtime.iterate(input)->next(value)) return value;
  return Value(Undefined{});
}

// The values from the last to the first; false when Python cannot go over it backwards.
bool reversed(Runtime& runtime, const Value& input, std::vector<Value>& values) {
  const bool possible = input.is_undefined() || input.is_text() || input.is_list_or_tuple() ||
                        input.is_dict() || input.as<Range>() != nullptr ||
                        input.as<DictView>() != nullptr;
  if (!possible) return false;
  values = runtime.collect(input);
  std::reverse(values.begin(), values.end());
  return true;
}

Value last(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "last", {}, 0);
  std::vector<Value> values;
  if (!reversed(runtime, input, values)) fail("'{}' object is not reversible", type_name(input));
  return values.empty() ? Value(Undefined{}) : values.front();
}

Value reverse(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "reverse", {}, 0);
  if (input.is_text()) {
    return get_slice(runtime, input, Value(None{}), Value(None{}), Value::integer(int64_t{-1}));
  }
  std::vector<Value> values;
  if (reversed(runtime, input, values)) {
    return deferred(runtime, "reversed", [values = std::move(values)] { return values; });
  }
  values = runtime.collect(input);
  std::reverse(values.begin(), values.end());
  return runtime.list(std::move(values));
}

Value join_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "join", {"d", "attribute"}, 0);
  std::vector<Value> values = runtime.collect(input);
  if (bound.some(1)) {
    const AttributePath path(bound[1]);
    for (Value& value : values)
      value = path.of(runtime, value);
  }
  static const TextPtr kNothing = std::make_shared<const Text>();
  const TextPtr separator = bound.has(0) ? to_text(runtime, bound[0]) : kNothing;
  return Value(join(runtime, *separator, values));
}

// The order of `keys`, stable.
std::vector<size_t> order_of(Runtime& runtime, const std::vector<Value>& keys, bool from_largest) {
  return stable_order(keys.size(), [&](size_t a, size_t b) {
    return from_largest ? runtime.is_less(keys[b], keys[a]) : runtime.is_less(keys[a], keys[b]);
  });
}

std::vector<Value> in_order(const std::vector<Value>& values, const std::vector<size_t>& order) {
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (const size_t i : order)
    sorted.push_back(values[i]);
  return sorted;
}

Value sort(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "sort", {"reverse", "case_sensitive", "attribute"}, 0);
  const std::vector<Value> values = runtime.collect(input);
  std::vector<AttributePath> paths;
  if (bound.some(2) && bound[2].is_text()) {
    static const Text kComma(",", Origin::kTemplate);
    for (const Value& part : split(runtime, bound.text(2), &kComma, -1, false)) {
      paths.emplace_back(part);
    }
  } else {
    paths.emplace_back(none_or(bound.get(2)));
  }
  std::vector<Value> keys;
  for (const Value& value : values) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      Value part = path.of(runtime, value);
      key.push_back(bound.flag(1, false) ? part : without_case(runtime, part));
    }
    keys.push_back(runtime.list(std::move(key)));
  }
  return runtime.list(in_order(values, order_of(runtime, keys, bound.flag(0, false))));
}

Value dictsort(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "dictsort", {"case_sensitive", "by", "reverse"}, 0);
  const std::string by = bound.has(1) ? bound.text(1)->bytes() : "key";
  if (by != "key" && by != "value") fail("'dictsort' sorts by \"key\" or by \"value\"");
  if (input.is_undefined()) fail("{}", describe(input.undefined()));
  if (!input.is_dict()) fail("'dictsort' sorts mappings, not '{}'", type_name(input));
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : input.dict().entries()) {
    const Value& compared = by == "key" ? key : value;
    keys.push_back(bound.flag(0, false) ? compared : without_case(runtime, compared));
    pairs.push_back(runtime.tuple({key, value}));
  }
  return runtime.list(in_order(pairs, order_of(runtime, keys, bound.flag(2, false))));
}

template <bool largest>
Value extreme(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, largest ? "max" : "min", {"case_sensitive", "attribute"}, 0);
  const AttributePath path(none_or(bound.get(1)));
  Value best;
  Value best_key;
  bool any = false;
  const auto iterator = runtime.iterate(input);
  for (Value value; iterator->next(value);) {
    Value key = path.of(runtime, value);
    if (!bound.flag(0, false)) key = without_case(runtime, key);
    const bool better =
        !any || (largest ? runtime.is_less(best_key, key) : runtime.is_less(key, best_key));
    any = true;
    if (!better) continue;
    best = value;
    best_key = std::move(key);
  }
  return best;
}

Value sum(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "sum", {"attribute", "start"}, 0);
  Value total = bound.has(1) ? bound[1] : Value::integer(int64_t{0});
  if (total.is_text()) fail("'sum' adds no strings; use join");
  const AttributePath path(none_or(bound.get(0)));
  const auto iterator = runtime.iterate(input);
  for (Value value; iterator->next(value);) {
    runtime.budget.spend(1);
    total = binary(runtime, Operator::kAdd, total, path.of(runtime, value));
  }
  return total;
}

Value unique(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "unique", {"case_sensitive", "attribute"}, 0);
  const bool case_sensitive = bound.flag(0, false);
  const AttributePath path(none_or(bound.get(1)));
  return deferred(runtime, "generator", [&runtime, input, case_sensitive, path] {
    std::vector<Value> kept;
    std::vector<std::pair<uint64_t, Value>> seen;
    for (const Value& value : runtime.collect(input)) {
      Value key = path.of(runtime, value);
      if (!case_sensitive) key = without_case(runtime, key);
      if (!is_hashable(key)) fail("unhashable type: '{}'", type_name(key));
      const uint64_t hash = hash_of(key);
      runtime.budget.spend(1 + seen.size() / 8);
      const bool known = std::any_of(seen.begin(), seen.end(), [&](const auto& other) {
        return other.first == hash && runtime.equal(other.second, key);
      });
      if (known) continue;
      seen.emplace_back(hash, std::move(key));
      kept.push_back(value);
    }
    return kept;
  });
}

Value groupby(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(bound[0], bound.get(1));
  const bool case_sensitive = bound.flag(2, false);
  const std::vector<Value> values = runtime.collect(input);
  std::vector<Value> keys;
  for (const Value& value : values) {
    const Value key = path.of(runtime, value);
    keys.push_back(case_sensitive ? key : without_case(runtime, key));
  }
  const std::vector<size_t> order = order_of(runtime, keys, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && runtime.equal(keys[order[begin]], keys[order[end]]))
      ++end;
    std::vector<Value> members;
    for (size_t i = begin; i < end; ++i)
      members.push_back(values[order[i]]);
    const Value key = case_sensitive ? keys[order[begin]] : path.of(runtime, members.front());
    groups.push_back(runtime.list({key, runtime.list(std::move(members))}, ListKind::kGroup));
    begin = end;
  }
  return runtime.list(std::move(groups));
}

Value batch(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "batch", {"linecount", "fill_with"}, 1);
  const int64_t size = bound.integer(0, 1);
  const Value fill = none_or(bound.get(1));
  return deferred(runtime, "generator", [&runtime, input, size, fill] {
    std::vector<Value> rows;
    std::vector<Value> row;
    for (const Value& value : runtime.collect(input)) {
      if (static_cast<int64_t>(row.size()) == size) {
        rows.push_back(runtime.list(std::exchange(row, {})));
      }
      row.push_back(value);
    }
    if (!row.empty()) {
      while (!fill.is_none() && static_cast<int64_t>(row.size()) < size) {
        runtime.budget.spend(1);
        row.push_back(fill);
      }
      rows.push_back(runtime.list(std::move(row)));
    }
    return rows;
  });
}

Value slice(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "slice", {"slices", "fill_with"}, 1);
  const int64_t slices = bound.integer(0, 1);
  const Value fill = none_or(bound.get(1));
  return deferred(runtime, "generator", [&runtime, input, slices, fill] {
    const std::vector<Value> values = runtime.collect(input);
    if (slices == 0) fail("division by zero");
    std::vector<Value> columns;
    const auto count = static_cast<int64_t>(values.size());
    const int64_t extra = slices > 0 ? count % slices : 0;
    int64_t at = 0;
    for (int64_t i = 0; i < slices; ++i) {
      const int64_t size = count / slices + (i < extra ? 1 : 0);
      std::vector<Value> column(values.begin() + at, values.begin() + at + size);
      if (!fill.is_none() && i >= extra) column.push_back(fill);
      at += size;
      columns.push_back(runtime.list(std::move(column)));
    }
    return columns;
  });
}

Value items(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "items", {}, 0);
  return deferred(runtime, "generator", [&runtime, input]() -> std::vector<Value> {
    if (input.is_undefined()) return {};
    if (!input.is_dict()) fail("'items' needs a mapping, not '{}'", type_name(input));
    return DictView(input.dict_ptr(), DictView::Part::kItems).collect(runtime);
  });
}

Value attr(Runtime& runtime, const Value& input, Arguments& arguments) {
  const Bound bound(arguments, "attr", {"name"}, 1);
  if (input.is_undefined()) fail("{}", describe(input.undefined()));
  Value value;
  if (find_attribute(runtime, input, bound.text(0), value)) return value;
  return Value(Undefined{.name = bound.text(0), .of = type_name(input)});
}

Value refuse_random(Runtime&, const Value&, Arguments&) {
  fail("'random' is not supported: the same messages make the same prompt");
}

}  // namespace

const std::vector<FilterEntry>& sequence_filters() {
  static const std::vector<FilterEntry> kFilters = {
      {"length", length},        {"count", length},      {"list", list},
      {"first", first},          {"last", last},         {"reverse", reverse},
      {"join", join_filter},     {"sort", sort},         {"dictsort", dictsort},
      {"min", extreme<false>},   {"max", extreme<true>}, {"sum", sum},
      {"unique", unique},        {"groupby", groupby},   {"batch", batch},
      {"slice", slice},          {"items", items},       {"attr", attr},
      {"random", refuse_random},
  };
  return kFilters;
}

// --- map, select, reject, selectattr, rejectattr: one item at a time, on demand ------------------

namespace {

const Value* named(const Arguments& arguments, std::string_view name) {
  for (const auto& [given, value] : arguments.named) {
    if (given->bytes() == name) return &value;
  }
  return nullptr;
}

// The rest of the arguments, for a filter or a test that has its name among them.
Arguments behind(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

// Iterates over the input lazily; over an empty one never.
class Lazy : public Iterator {
 public:
  Lazy(Runtime& runtime, Value input, Arguments arguments)
      : runtime_(runtime), input_(std::move(input)), arguments_(std::move(arguments)) {}

  bool next(Value& value) final {
    if (!started_) {
      started_ = true;
      if (truth(input_)) {
        prepare();
        items_ = runtime_.iterate(input_);
      }
    }
    if (!items_) return false;
    for (Value item; items_->next(item);) {
      runtime_.budget.spend(2);
      if (transform(item, value)) return true;
    }
    return false;
  }

 protected:
  virtual void prepare() = 0;
  virtual bool transform(const Value& item, Value& value) = 0;

  Runtime& runtime_;
  Value input_;
  Arguments arguments_;

 private:
  bool started_ = false;
  std::unique_ptr<Iterator> items_;
};

class Map final : public Lazy {
 public:
  using Lazy::Lazy;

 private:
  void prepare() override {
    if (arguments_.positional.empty()) {
      const Value* attribute = named(arguments_, "attribute");
      if (attribute == nullptr) fail("'map' needs a filter or an attribute");
      for (const auto& given : arguments_.named) {
        const std::string& name = given.first->bytes();
        if (name != "attribute" && name != "default") fail("'map' has no parameter '{}'", name);
      }
      path_.emplace(*attribute, named(arguments_, "default"));
      return;
    }
    const Value& name = arguments_.positional.front();
    if (name.is_text()) filter_ = find_filter(name.text()->bytes());
    if (filter_ == nullptr) fail("'map': there is no such filter");
    rest_ = behind(arguments_, 1);
  }

  bool transform(const Value& item, Value& value) override {
    if (path_) {
      value = path_->of(runtime_, item);
    } else {
      Arguments arguments = rest_;
      value = filter_(runtime_, item, arguments);
    }
    return true;
  }

  std::optional<AttributePath> path_;
  FilterFunction filter_ = nullptr;
  Arguments rest_;
};

class Select final : public Lazy {
 public:
  Select(Runtime& runtime, const Value& input, const Arguments& arguments, bool by_attribute,
         bool wanted)
      : Lazy(runtime, input, arguments), by_attribute_(by_attribute), wanted_(wanted) {}

 private:
  void prepare() override {
    const auto& given = arguments_.positional;
    const size_t at = by_attribute_ ? 1 : 0;
    if (by_attribute_) {
      if (given.empty()) fail("selectattr and rejectattr need the name of an attribute");
      path_.emplace(given.front());
    }
    if (given.size() <= at) return;
    if (given[at].is_text()) test_ = find_test(given[at].text()->bytes());
    if (test_ == nullptr) fail("there is no such test to select by");
    rest_ = behind(arguments_, at + 1);
  }

  bool transform(const Value& item, Value& value) override {
    const Value subject = path_ ? path_->of(runtime_, item) : item;
    bool meets = false;
    if (test_ != nullptr) {
      Arguments arguments = rest_;
      meets = test_(runtime_, subject, arguments);
    } else {
      meets = truth(subject);
    }
    if (meets != wanted_) return false;
    value = item;
    return true;
  }

  bool by_attribute_;
  bool wanted_;
  std::optional<AttributePath> path_;
  TestFunction test_ = nullptr;
  Arguments rest_;
};

Value map(Runtime& runtime, const Value& input, Arguments& arguments) {
  return Value(runtime.make<Generator>(
      "generator", std::make_unique<Map>(runtime, input, std::move(arguments))));
}

template <bool by_attribute, bool wanted>
Value select(Runtime& runtime, const Value& input, Arguments& arguments) {
  return Value(runtime.make<Generator>(
      "generator", std::make_unique<Select>(runtime, input, arguments, by_attribute, wanted)));
}

}  // namespace

const std::vector<FilterEntry>& selection_filters() {
  static const std::vector<FilterEntry> kFilters = {
      {"map", map},
      {"select", select<false, true>},
      {"reject", select<false, false>},
      {"selectattr", select<true, true>},
      {"rejectattr", select<true, false>},
  };
  return kFilters;
}

}  // namespace windrow::jinja
