#include "structured/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "structured/formats.h"
#include "structured/words.h"

namespace windrow::structured {
namespace {

constexpr int kDepthMax = 5;

class InstanceMaker {
 public:
  InstanceMaker(const SchemaCase& schema, Random& random)
      : schema_(schema), random_(random), generous_(random.unit()) {}

  Instance make(const Shape& asked, int depth) {
    if (asked.nullable != Nullable::kNo && (depth > kDepthMax || random_.chance(0.3))) {
      return {.text = "null", .shape = &asked};
    }
    const Shape& shape = schema_.resolve(asked);
    if (&shape != &asked) return make(shape, depth);
    switch (shape.kind) {
      case Kind::kObject:
      case Kind::kAll:
        return object(shape, depth);
      case Kind::kArray:
        return array(shape, depth);
      case Kind::kEither:
        return either(shape, depth);
      case Kind::kAnything:
        return anything(depth);
      default:
        return {.text = scalar(shape), .shape = &shape};
    }
  }

 private:
  Instance object(const Shape& shape, int depth) {
    Instance made{.type = Instance::Type::kObject, .shape = &shape};
    std::vector<Member> members = schema_.members_of(shape);
    for (const Member& member : members) {
      if (!member.required && (depth > kDepthMax || !random_.chance(generous_))) continue;
      made.names.push_back(member.name);
      made.parts.push_back(make(*member.shape, depth + 1));
    }
    const auto add = [&](const std::string& name, const Shape& of) {
      const bool known =
          std::find(made.names.begin(), made.names.end(), name) != made.names.end() ||
          std::any_of(members.begin(), members.end(),
                      [&](const Member& one) { return one.name == name; });
      if (known) return;
      made.names.push_back(name);
      made.parts.push_back(make(of, depth + 1));
    };
    if (depth > kDepthMax) return made;
    for (const NamePattern& pattern : shape.patterns) {
      for (uint64_t left = random_.below(3); left > 0; --left)
        add(pattern.names.sample(random_), *pattern.shape);
    }
    if (shape.additional) {
      for (uint64_t left = random_.below(4); left > 0; --left) {
        const std::string name = prose(random_, 2);
        // No declared pattern's: those begin with these.
        if (!name.starts_with("x-") && !name.starts_with("env:")) add(name, *shape.additional);
      }
    }
    return made;
  }

  Instance array(const Shape& shape, int depth) {
    Instance made{.type = Instance::Type::kArray, .shape = &shape};
    const uint64_t first = shape.first_items.size();
    uint64_t max = shape.size_max.value_or(first + 3);
    if (!shape.items) max = std::min(max, first);
    uint64_t count = shape.size_min;
    if (depth <= kDepthMax && max > count) {
      const uint64_t more = random_.below(max - count + 1);
      count += depth > 2 ? std::min<uint64_t>(more, 2) : more;
    }
    for (uint64_t i = 0; i < count; ++i) {
      const Shape& of = i < first ? *shape.first_items[i] : *shape.items;
      made.parts.push_back(make(of, depth + 1));
    }
    return made;
  }

  Instance either(const Shape& shape, int depth) {
    if (depth > kDepthMax) {  // one that has nothing within, where there is one
      for (const ShapePtr& part : shape.parts) {
        const Kind kind = schema_.resolve(*part).kind;
        if (kind != Kind::kObject && kind != Kind::kArray && kind != Kind::kEither &&
            kind != Kind::kAll) {
          return make(*part, depth);
        }
      }
    }
    return make(*pick(random_, shape.parts), depth + 1);
  }

  Instance anything(int depth) {
    const uint64_t draw = random_.below(depth > kDepthMax ? 6 : 8);
    Instance made;
    if (draw >= 6) {
      made.type = draw == 6 ? Instance::Type::kArray : Instance::Type::kObject;
      for (uint64_t left = random_.below(4); left > 0; --left) {
        if (draw == 7) {
          std::string name = prose(random_, 1) + std::to_string(left);
          made.names.push_back(std::move(name));
        }
        made.parts.push_back(anything(depth + 1));
      }
      return made;
    }
    constexpr auto kWords = std::to_array<std::string_view>({"null", "true", "false"});
    made.text = draw < 3    ? json_text(prose(random_, 5))
                : draw == 3 ? kWords[random_.below(kWords.size())]
                            : unbounded_number(draw == 4);
    return made;
  }

  std::string unbounded_number(bool whole) {
    std::string text = std::to_string(random_.between(-99, 99) *
                                      (random_.chance(0.2) ? int64_t{1234567891} : int64_t{1}));
    if (whole) return text;
    if (random_.chance(0.7)) text += fmt::format(".{}", random_.below(1000000));
    if (random_.chance(0.1)) text += fmt::format("e{}", random_.between(-20, 20));
    return text;
  }

  std::string scalar(const Shape& shape) {
    switch (shape.kind) {
      case Kind::kString:
        return json_text(string(shape));
      case Kind::kInteger:
        return integer(shape);
      case Kind::kNumber:
        return number(shape);
      case Kind::kBoolean:
        return random_.chance(0.5) ? "true" : "false";
      case Kind::kValues:
        return pick(random_, shape.values);
      default:
        return "null";
    }
  }

  std::string string(const Shape& shape) {
    if (!shape.format.empty()) return format_text(shape.format, random_);
    const uint64_t max = shape.size_max.value_or(UINT64_MAX);
    if (shape.pattern) {
      for (int tries = 0; tries < 20; ++tries) {
        std::string text = shape.pattern->sample(random_);
        const size_t length = characters_of(text);
        if (length >= shape.size_min && length <= max) return text;
      }
      return shape.example;
    }
    std::string text = prose(random_, shape.size_max ? 2 + max / 8 : 12);
    while (characters_of(text) < shape.size_min)
      text += pick(random_, std::vector<std::string>{"x", "é", "字", "\"", "🙂", "0"});
    while (characters_of(text) > max) {  // the last character
      while ((static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U)
        text.pop_back();
      text.pop_back();
    }
    return text;
  }

  std::string integer(const Shape& shape) {
    if (!shape.min && !shape.max) return unbounded_number(true);
    int64_t min = shape.min ? shape.min->units : shape.max->units - 1000;
    int64_t max = shape.max ? shape.max->units : shape.min->units + 1000;
    min += shape.min_excluded ? 1 : 0;
    max -= shape.max_excluded ? 1 : 0;
    if (shape.multiple_of == 0) {
      const uint64_t draw = random_.below(10);
      return std::to_string(draw == 0 ? min : draw == 1 ? max : random_.between(min, max));
    }
    const int64_t by = shape.multiple_of;
    int64_t first = min / by * by;
    while (first < min)
      first += by;
    const int64_t times = (max - first) / by;
    return std::to_string(first + random_.between(0, times) * by);
  }

  std::string number(const Shape& shape) {
    if (!shape.min && !shape.max) return unbounded_number(false);
    const int decimals = shape.min ? shape.min->decimals : shape.max->decimals;
    const int more = static_cast<int>(random_.below(3));
    int64_t scale = 1;
    for (int i = 0; i < more; ++i)
      scale *= 10;
    int64_t min = (shape.min ? shape.min->units : shape.max->units - 5000) * scale;
    int64_t max = (shape.max ? shape.max->units : shape.min->units + 5000) * scale;
    min += shape.min_excluded ? 1 : 0;
    max -= shape.max_excluded ? 1 : 0;
    return Decimal{random_.between(min, max), decimals + more}.text();
  }

  const SchemaCase& schema_;
  Random& random_;
  double generous_;  // how likely optional members are
};

void write(const Instance& instance, std::string& text) {
  switch (instance.type) {
    case Instance::Type::kScalar:
      text += instance.text;
      return;
    case Instance::Type::kArray:
    case Instance::Type::kObject: {
      const bool object = instance.type == Instance::Type::kObject;
      text += object ? '{' : '[';
      for (size_t i = 0; i < instance.parts.size(); ++i) {
        if (i > 0) text += ',';
        if (object) text += json_text(instance.names[i]) + ":";
        write(instance.parts[i], text);
      }
      text += object ? '}' : ']';
      return;
    }
  }
}

}  // namespace

Instance make_instance(const SchemaCase& schema, Random& random) {
  return InstanceMaker(schema, random).make(*schema.root, 0);
}

void shuffle_members(Instance& instance, Random& random) {
  for (Instance& part : instance.parts)
    shuffle_members(part, random);
  for (size_t i = instance.names.size(); i > 1; --i) {
    const size_t other = random.below(i);
    std::swap(instance.names[i - 1], instance.names[other]);
    std::swap(instance.parts[i - 1], instance.parts[other]);
  }
}

std::string compact(const Instance& instance) {
  std::string text;
  write(instance, text);
  return text;
}

std::string json_text(const std::string& utf8) {
  std::string text = "\"";
  for (const char letter : utf8) {
    constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
    constexpr std::string_view kAs = "\"\\bfnrt";
    const size_t at = kShort.find(letter);
    if (at != std::string_view::npos) {
      text += '\\';
      text += kAs[at];
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      text += letter;
    }
  }
  return text + '"';
}

}  // namespace windrow::structured
