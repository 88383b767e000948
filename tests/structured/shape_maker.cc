#include "structured/shape_maker.h"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "base/ensure.h"
#include "structured/formats.h"
#include "structured/words.h"

namespace windrow::structured {
namespace {

std::string in_quotes(const std::string& text) {
  return boost::json::serialize(boost::json::string(text));
}

ShapePtr shared(Shape shape) {
  return std::make_shared<const Shape>(std::move(shape));
}

class Maker {
 public:
  Maker(int level, uint64_t seed)
      : level_(level), random_(seed * 1000003 + static_cast<uint64_t>(level)), names_(random_) {}

  SchemaCase make(uint64_t seed) {
    SchemaCase made;
    made.level = level_;
    made.name = "level " + std::to_string(level_) + ", seed " + std::to_string(seed);
    made.draft7 = level_ >= 3 && random_.chance(0.15);
    if (level_ == 6 || level_ == 7) make_definitions(static_cast<size_t>(random_.between(1, 4)));
    if (level_ == 8) {
      made.root = platform_object();
    } else {
      made.root = root();
    }
    made.definitions = std::move(definitions_);
    return made;
  }

 private:
  bool hard() const { return level_ >= 7; }

  ShapePtr root() {
    const int depth = std::min(level_ - 1, 3);
    if (level_ >= 3 && random_.chance(0.08)) return array(depth);
    if (level_ >= 5 && random_.chance(0.1)) return either(depth);
    if (level_ >= 5 && random_.chance(0.1)) return all(depth);
    if (!definitions_.empty() && random_.chance(0.15)) return reference(definitions_.back().name);
    return object(depth, 2, level_ >= 7 ? 12 : 8, true);
  }

  // --- scalars ----------------------------------------------------------------------------------

  ShapePtr scalar() {
    Shape shape;
    const uint64_t draw = random_.below(100);
    if (level_ >= 2 && draw < 15) {
      shape = values();
    } else if (draw < 55) {
      shape = string();
    } else if (draw < 75) {
      shape = integer();
    } else if (draw < 87) {
      shape = number();
    } else if (draw < 98 || level_ < 2) {
      shape.kind = Kind::kBoolean;
    }
    annotate(shape);
    if (level_ >= 2 && random_.chance(0.2)) make_nullable(shape);
    return shared(std::move(shape));
  }

  Shape string() {
    Shape shape{.kind = Kind::kString};
    if (level_ < 4 || random_.chance(0.45)) return shape;
    switch (random_.below(4)) {
      case 0:
        shape.format = pick(random_, format_names());
        break;
      case 1:
        shape.pattern = Pattern::random(random_, hard());
        if (random_.chance(0.35)) {  // a length beside it, around one that it has
          shape.example = shape.pattern->sample(random_);
          const size_t length = characters_of(shape.example);
          if (length > 2 && random_.chance(0.5)) shape.size_min = length - random_.below(2);
          shape.size_max = length + random_.below(6);
        }
        break;
      default:
        if (random_.chance(0.6)) shape.size_min = 1 + random_.below(random_.chance(0.2) ? 40 : 4);
        if (random_.chance(0.7)) {
          shape.size_max = shape.size_min + random_.below(random_.chance(0.3) ? 2000 : 60);
        }
        break;
    }
    shape.split = level_ >= 5 && shape.size_max && random_.chance(0.1);
    return shape;
  }

  Shape integer() {
    Shape shape{.kind = Kind::kInteger};
    if (level_ < 4 || random_.chance(0.4)) return shape;
    constexpr auto kSpans = std::to_array<int64_t>(
        {1, 9, 10, 99, 100, 365, 1000, 65535, 1234567, 4294967296, 999999999999});
    const int64_t span = kSpans[random_.below(kSpans.size())];
    const int64_t min = random_.chance(0.5) ? random_.between(0, 1) : random_.between(-span, span);
    if (random_.chance(0.2)) {
      shape.multiple_of = random_.chance(0.5) ? 5 : random_.between(2, 60);
    }
    const bool both = shape.multiple_of != 0 || random_.chance(0.6);
    if (both || random_.chance(0.5)) shape.min = Decimal{min, 0};
    if (both || !shape.min) {
      shape.max = Decimal{min + std::max<int64_t>(span, shape.multiple_of * 2), 0};
    }
    shape.min_excluded = shape.min && random_.chance(0.15);
    shape.max_excluded = shape.max && shape.max->units - min > 2 && random_.chance(0.15);
    return shape;
  }

  Shape number() {
    Shape shape{.kind = Kind::kNumber};
    if (level_ < 4 || random_.chance(0.4)) return shape;
    const int decimals = static_cast<int>(random_.below(4));
    const int64_t span = pick(random_, std::vector<int64_t>{10, 100, 1000, 36000, 1000000});
    const int64_t min = random_.chance(0.5) ? 0 : random_.between(-span, span);
    const bool both = random_.chance(0.6);
    if (both || random_.chance(0.5)) shape.min = Decimal{min, decimals};
    if (both || !shape.min) shape.max = Decimal{min + random_.between(2, span), decimals};
    shape.min_excluded = shape.min && random_.chance(0.2);
    shape.max_excluded = shape.max && random_.chance(0.2);
    return shape;
  }

  Shape values() {
    Shape shape{.kind = Kind::kValues};
    shape.is_const = random_.chance(0.15);
    const uint64_t count = shape.is_const                       ? 1
                           : level_ >= 6 && random_.chance(0.1) ? 20 + random_.below(200)
                                                                : 2 + random_.below(7);
    for (uint64_t tries = 0; shape.values.size() < count && tries < 3 * count; ++tries) {
      std::string value = in_quotes(count > 12 ? names_.value(random_) + std::to_string(tries)
                                               : names_.value(random_));
      if (level_ >= 4 && random_.chance(0.08)) {
        constexpr auto kOthers =
            std::to_array<std::string_view>({"null", "true", "false", "0", "1", "-7", "42", "1.5",
                                             "[]", "{}", "[1,2]", R"({"a":1})"});
        value = kOthers[random_.below(kOthers.size())];
      }
      if (std::find(shape.values.begin(), shape.values.end(), value) == shape.values.end()) {
        shape.values.push_back(std::move(value));
      }
    }
    return shape;
  }

  void annotate(Shape& shape) {
    if (random_.chance(0.3)) shape.description = prose(random_, 12);
    if (random_.chance(0.1)) shape.title = names_.type(random_);
    shape.annotated = random_.chance(0.06);
  }

  void make_nullable(Shape& shape) {
    if (shape.kind == Kind::kNull || shape.split) return;
    const bool typed = shape.kind != Kind::kValues && shape.kind != Kind::kReference &&
                       shape.kind != Kind::kEither && shape.kind != Kind::kAll;
    const uint64_t draw = random_.below(10);
    shape.nullable = !typed || draw < 5 ? Nullable::kAnyOf
                     : draw < 8         ? Nullable::kTypeList
                                        : Nullable::kKeyword;
  }

  // --- what holds others ------------------------------------------------------------------------

  ShapePtr value(int depth) {
    if (depth <= 0 || level_ < 3) return scalar();
    const uint64_t draw = random_.below(100);
    if (level_ >= 6 && draw < 12 && !definitions_.empty()) {
      Shape shape = *reference(pick(random_, definitions_).name);
      if (random_.chance(0.3)) make_nullable(shape);
      return shared(std::move(shape));
    }
    if (level_ >= 6 && draw < 14) return shared({.kind = Kind::kAnything});
    if (level_ >= 5 && draw < 22) return either(depth - 1);
    if (level_ >= 5 && draw < 26) return all(depth - 1);
    if (draw < 45) return array(depth - 1);
    if (draw < 65) return object(depth - 1, 1, 6, false);
    return scalar();
  }

  ShapePtr object(int depth, int64_t min, int64_t max, bool is_root) {
    Shape shape{.kind = Kind::kObject};
    const double required = level_ < 2 ? 1 : random_.unit();
    add_members(shape, random_.between(min, max), depth, required);
    if (level_ >= 6) {
      const uint64_t draw = random_.below(100);
      if (draw < 12) {  // a map
        if (draw < 6) shape.members.clear();
        shape.additional = draw % 3 == 0 ? shared({.kind = Kind::kAnything}) : value(depth - 1);
      } else if (draw < 22) {
        if (draw < 15) shape.members.clear();
        add_patterns(shape, depth);
      }
      if (!is_root && random_.chance(0.1)) make_nullable(shape);
      if (is_root && random_.chance(0.15)) {
        Shape again{.kind = Kind::kReference};
        add_member(shape, "self_" + names_.member(random_), shared(std::move(again)), false);
      }
    }
    annotate(shape);
    return shared(std::move(shape));
  }

  void add_members(Shape& shape, int64_t count, int depth, double required) {
    for (; count > 0; --count)
      add_member(shape, names_.member(random_), value(depth), random_.chance(required));
  }

  static void add_member(Shape& shape, const std::string& name, ShapePtr of, bool required) {
    const auto known = std::find_if(shape.members.begin(), shape.members.end(),
                                    [&](const Member& member) { return member.name == name; });
    if (known == shape.members.end()) shape.members.push_back({name, std::move(of), required});
  }

  void add_patterns(Shape& shape, int depth) {
    shape.patterns.push_back({Pattern::names(random_, "x-"), value(depth - 1)});
    if (random_.chance(0.4)) {
      shape.patterns.push_back({Pattern::names(random_, "env:"), scalar()});
    }
    if (random_.chance(0.2)) shape.additional = scalar();
  }

  ShapePtr array(int depth) {
    Shape shape{.kind = Kind::kArray};
    if (level_ >= 5 && random_.chance(0.2)) {
      for (uint64_t left = 1 + random_.below(4); left > 0; --left)
        shape.first_items.push_back(value(depth));
      if (random_.chance(0.3)) shape.items = value(depth);
      if (random_.chance(0.5)) shape.size_min = random_.below(shape.first_items.size() + 1);
    } else {
      shape.items = value(depth);
      if (random_.chance(0.3)) shape.size_min = random_.below(4);
      if (random_.chance(0.4)) {
        shape.size_max = shape.size_min + random_.below(random_.chance(0.1) ? 100 : 8);
      }
    }
    annotate(shape);
    if (level_ >= 3 && random_.chance(0.07)) make_nullable(shape);
    return shared(std::move(shape));
  }

  ShapePtr either(int depth) {
    Shape shape{.kind = Kind::kEither};
    const uint64_t draw = random_.below(10);
    if (draw < 5) {  // objects that say which they are
      shape.one_of = random_.chance(0.6);
      const std::string tag = random_.chance(0.5) ? "type" : "kind";
      const bool first = random_.chance(0.8);
      for (uint64_t ways = 2 + random_.below(4); ways > 0; --ways) {
        Shape way{.kind = Kind::kObject};
        Shape constant{.kind = Kind::kValues, .is_const = true};
        constant.values = {in_quotes(names_.value(random_) + std::to_string(ways))};
        constant.is_const = random_.chance(0.8);
        if (!first) add_member(way, "about", scalar(), random_.chance(0.5));
        add_member(way, tag, shared(std::move(constant)), true);
        add_members(way, random_.between(0, 3), depth, 0.6);
        shape.parts.push_back(define_sometimes(std::move(way)));
      }
    } else if (draw < 8) {  // types
      shape.one_of = random_.chance(0.4);
      shape.parts = {shared(string())};
      shape.parts.push_back(random_.chance(0.5) ? shared(integer()) : shared(number()));
      if (random_.chance(0.4)) shape.parts.push_back(shared({.kind = Kind::kBoolean}));
      if (random_.chance(0.4)) shape.parts.push_back(shared({.kind = Kind::kNull}));
      if (random_.chance(0.3)) {
        Shape list{.kind = Kind::kArray};
        list.items = shared(string());
        shape.parts.push_back(shared(std::move(list)));
      }
      if (random_.chance(0.3)) shape.parts.push_back(object(depth, 1, 3, false));
      if (shape.parts.back()->nullable != Nullable::kNo) shape.one_of = false;
    } else {  // which overlap
      for (uint64_t ways = 2 + random_.below(2); ways > 0; --ways)
        shape.parts.push_back(random_.chance(0.5) ? object(depth, 1, 3, false) : scalar());
    }
    annotate(shape);
    return shared(std::move(shape));
  }

  ShapePtr all(int depth) {
    Shape shape{.kind = Kind::kAll};
    Shape base{.kind = Kind::kObject};
    add_members(base, random_.between(1, 4), depth, 0.7);
    Shape more{.kind = Kind::kObject};
    if (random_.chance(0.3)) {  // says one of them more closely
      add_member(base, "stage", shared({.kind = Kind::kString}), false);
      Shape closer{.kind = Kind::kValues};
      closer.values = {in_quotes("early"), in_quotes("late"),
                       in_quotes("final_" + names_.value(random_))};
      add_member(more, "stage", shared(std::move(closer)), random_.chance(0.5));
    }
    for (int64_t left = random_.between(1, 3); left > 0; --left) {
      const std::string name = names_.member(random_);
      const bool known = std::any_of(base.members.begin(), base.members.end(),
                                     [&](const Member& member) { return member.name == name; });
      if (!known) add_member(more, name, value(depth), random_.chance(0.5));
    }
    shape.parts = {define_sometimes(std::move(base)), shared(std::move(more))};
    return shared(std::move(shape));
  }

  // --- definitions ------------------------------------------------------------------------------

  ShapePtr reference(const std::string& name) {
    Shape shape{.kind = Kind::kReference};
    shape.definition = name;
    shape.wrapped = random_.chance(0.1);
    if (random_.chance(0.2)) shape.description = prose(random_, 6);
    return shared(std::move(shape));
  }

  std::string new_name() {
    std::string name = names_.type(random_);
    while (!names_given_.insert(name).second)
      name += std::to_string(names_given_.size());
    return name;
  }

  ShapePtr define_sometimes(Shape shape) {
    if (level_ < 6 || random_.chance(0.5)) return shared(std::move(shape));
    const std::string name = new_name();
    definitions_.push_back({name, shared(std::move(shape))});
    return reference(name);
  }

  // Each may name those before it anywhere, and itself where one may do without.
  void make_definitions(size_t count) {
    for (; count > 0; --count) {
      const std::string name = new_name();
      Shape shape{.kind = Kind::kObject};
      add_members(shape, random_.between(1, 5), 2, 0.6);
      const uint64_t draw = random_.below(4);
      if (draw == 0) {
        Shape list{.kind = Kind::kArray};
        list.items = reference(name);
        add_member(shape, "children", shared(std::move(list)), random_.chance(0.7));
      } else if (draw == 1) {
        Shape next = *reference(name);
        next.nullable = Nullable::kAnyOf;
        add_member(shape, "next", shared(std::move(next)), random_.chance(0.5));
      } else if (draw == 2) {
        add_member(shape, "parent", reference(name), false);
      }
      annotate(shape);
      definitions_.push_back({name, shared(std::move(shape))});
    }
  }

  // --- platforms --------------------------------------------------------------------------------

  // Wide objects, hardly a member of which is required, that share what they are made of.
  ShapePtr platform_object() {
    level_ = 6;  // of what is within
    for (int64_t left = random_.between(4, 8); left > 0; --left) {
      const std::string name = new_name();
      Shape part{.kind = Kind::kObject};
      add_members(part, random_.between(4, 20), 1, 0.15);
      definitions_.push_back({name, shared(std::move(part))});
    }
    Shape labels{.kind = Kind::kObject};
    labels.additional = shared({.kind = Kind::kString});
    const ShapePtr map = shared(std::move(labels));
    Shape meta{.kind = Kind::kObject};
    add_member(meta, "name", shared(string()), true);
    add_member(meta, "labels", map, false);
    add_member(meta, "annotations", map, false);
    Shape spec{.kind = Kind::kObject};
    const int64_t wide = random_.between(50, 200);
    for (int64_t left = wide; left > 0; --left) {
      std::string name = names_.member(random_) + (random_.chance(0.5) ? "" : names_.type(random_));
      ShapePtr of;
      const uint64_t draw = random_.below(10);
      if (draw < 3) {
        of = reference(pick(random_, definitions_).name);
      } else if (draw < 5) {
        Shape list{.kind = Kind::kArray};
        list.items = reference(pick(random_, definitions_).name);
        of = shared(std::move(list));
      } else {
        of = draw < 6 ? map : scalar();
      }
      add_member(spec, name, std::move(of), random_.chance(0.05));
    }
    Shape version{.kind = Kind::kValues, .is_const = true};
    version.values = {in_quotes("apps/v" + std::to_string(random_.between(1, 3)))};
    Shape kind{.kind = Kind::kValues};
    kind.values = {in_quotes(names_.type(random_)), in_quotes("List")};
    Shape root{.kind = Kind::kObject};
    add_member(root, "apiVersion", shared(std::move(version)), true);
    add_member(root, "kind", shared(std::move(kind)), true);
    add_member(root, "metadata", shared(std::move(meta)), random_.chance(0.5));
    add_member(root, "spec", shared(std::move(spec)), true);
    return shared(std::move(root));
  }

  int level_;
  Random random_;
  Names names_;
  std::vector<Definition> definitions_;
  std::set<std::string> names_given_;
};

}  // namespace

SchemaCase make_schema(int level, uint64_t seed) {
  ENSURE(level >= 1 && level <= kLevels, "there is no such level");
  return Maker(level, seed).make(seed);
}

}  // namespace windrow::structured
