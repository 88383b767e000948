#include <array>
#include <string_view>

#include "structured/instance.h"
#include "structured/words.h"

namespace windrow::structured {
namespace {

using Places = std::vector<Instance*>;

void collect(Instance& instance, Places& places) {
  places.push_back(&instance);
  for (Instance& part : instance.parts)
    collect(part, places);
}

std::string other_scalar(Random& random) {
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"null", "true", "false", "0", "-1", "1.5", "1e3", "\"\"", "\"x\"", "[]", "{}", "[null]",
       R"({"a":1})", "99999999999999999999", "\"2024-02-30\"", "\"null\"", "-0"});
  return std::string(pick(random, std::span<const std::string_view>(kOthers)));
}

std::string changed_number(const std::string& text, Random& random) {
  switch (random.below(9)) {
    case 0:
      return "-" + text;
    case 1:
      return text + "0";
    case 2:
      return text + ".5";
    case 3:
      return "0" + text;
    case 4:
      return text + "e1";
    case 5:
      return text + ".";
    case 6:
      return "\"" + text + "\"";
    case 7:
      return "+" + text;
    default: {  // a digit that is another
      std::string changed = text;
      const size_t at = random.below(changed.size());
      if (changed[at] >= '0' && changed[at] <= '9') {
        changed[at] = static_cast<char>('0' + random.below(10));
      }
      return changed;
    }
  }
}

// Positions between two characters of the text within quotes.
size_t place_within(const std::string& text, Random& random) {
  size_t at = 1 + random.below(text.size() - 1);
  while (at > 1 &&
         ((static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U || text[at - 1] == '\\')) {
    --at;
  }
  return at;
}

std::string changed_string(std::string text, Random& random) {
  if (text.front() != '"') return other_scalar(random);
  constexpr auto kPieces = std::to_array<std::string_view>(
      {"x", "0", " ", "é", "\\\"", "\\\\", "-", "Z", "\\n", "😀", "\\u0000", "_", "\n", "\"", "."});
  const auto piece = [&] {
    return std::string(pick(random, std::span<const std::string_view>(kPieces)));
  };
  switch (random.below(7)) {
    case 0:  // a byte or character less
      if (text.size() > 2) {
        const size_t at = place_within(text, random);
        size_t end = at + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
          ++end;
        if (end < text.size()) text.erase(at, end - at);
      }
      return text;
    case 1:
    case 2:
      return text.insert(place_within(text, random), piece());
    case 3:
      return text.insert(text.size() - 1, piece());
    case 4:  // much longer
      for (uint64_t left = random.below(60); left > 0; --left)
        text.insert(text.size() - 1, random.chance(0.8) ? "a" : "字");
      return text;
    case 5: {  // upper case for lower case
      const size_t at = place_within(text, random);
      if (text[at] >= 'a' && text[at] <= 'z') text[at] = static_cast<char>(text[at] - 32);
      return text;
    }
    default:
      return random.chance(0.5) ? "\"\"" : text.insert(1, piece());
  }
}

// Just outside, or just within, what its shape asks for.
std::string bordering(const Shape& shape, Random& random) {
  if (shape.min || shape.max) {
    Decimal bound = shape.min && (!shape.max || random.chance(0.5)) ? *shape.min : *shape.max;
    bound.units += random.between(-1, 1);
    return bound.text();
  }
  if (shape.kind == Kind::kString && (shape.size_min > 0 || shape.size_max)) {
    const bool few = shape.size_min > 0 && (!shape.size_max || random.chance(0.5));
    const uint64_t count = few ? shape.size_min - 1 : *shape.size_max + random.below(2);
    std::string text = "\"";
    for (uint64_t left = count; left > 0; --left)
      text += random.chance(0.9) ? "a" : "é";
    return text + '"';
  }
  if (shape.kind == Kind::kValues) return changed_string(pick(random, shape.values), random);
  return other_scalar(random);
}

void change_array(Instance& array, Random& random) {
  if (array.parts.empty() || random.chance(0.3)) {
    const Instance extra = array.parts.empty() || random.chance(0.5)
                               ? Instance{.text = other_scalar(random)}
                               : array.parts.back();
    for (uint64_t left = 1 + random.below(5); left > 0; --left)
      array.parts.push_back(extra);
  } else if (random.chance(0.5)) {
    array.parts.pop_back();
  } else {
    array.parts.clear();
  }
}

void change_object(Instance& object, Random& random) {
  const uint64_t draw = random.below(5);
  if (object.parts.empty() || draw == 0) {
    const size_t at = random.below(object.parts.size() + 1);
    object.names.insert(object.names.begin() + static_cast<std::ptrdiff_t>(at),
                        pick(random, std::vector<std::string>{"extra", "", "x-", "type", "id"}));
    object.parts.insert(object.parts.begin() + static_cast<std::ptrdiff_t>(at),
                        Instance{.text = other_scalar(random)});
    return;
  }
  const size_t at = random.below(object.parts.size());
  const auto offset = static_cast<std::ptrdiff_t>(at);
  if (draw < 3) {  // one less
    object.names.erase(object.names.begin() + offset);
    object.parts.erase(object.parts.begin() + offset);
  } else if (draw == 3) {  // its name a little different
    std::string& name = object.names[at];
    if (name.empty() || random.chance(0.5)) {
      name += random.chance(0.5) ? "s" : " ";
    } else {
      name.insert(0, "_");
    }
  } else {  // what it holds belongs to another
    std::swap(object.parts[at], object.parts[random.below(object.parts.size())]);
  }
}

void change(Instance& instance, Random& random) {
  if (random.chance(0.15)) {
    instance = Instance{.text = other_scalar(random)};
  } else if (instance.type == Instance::Type::kArray) {
    change_array(instance, random);
  } else if (instance.type == Instance::Type::kObject) {
    change_object(instance, random);
  } else if (instance.shape != nullptr && random.chance(0.3)) {
    instance.text = bordering(*instance.shape, random);
  } else if (instance.text.front() == '"') {
    instance.text = changed_string(instance.text, random);
  } else if (instance.text.front() == '-' || (instance.text[0] >= '0' && instance.text[0] <= '9')) {
    instance.text = changed_number(instance.text, random);
  } else {
    instance.text = other_scalar(random);
  }
}

std::string broken_text(std::string text, Random& random) {
  switch (random.below(5)) {
    case 0:
      return text.substr(0, text.size() - 1);
    case 1:
      return text + (random.chance(0.5) ? "," : "}");
    case 2: {
      const size_t at = text.find(',');
      if (at != std::string::npos) text.insert(at, ",");
      return text;
    }
    case 3:
      return text.insert(text.size() - 1, ",");
    default: {
      const size_t at = text.find(':');
      if (at != std::string::npos) text.erase(at, 1);
      return text;
    }
  }
}

}  // namespace

std::string near_miss(const Instance& instance, Random& random) {
  if (random.chance(0.05)) return broken_text(compact(instance), random);
  Instance changed = instance;
  Places places;
  collect(changed, places);
  change(*pick(random, places), random);
  return compact(changed);
}

}  // namespace windrow::structured
