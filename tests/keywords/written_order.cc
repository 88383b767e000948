#include "keywords/written_order.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/schema/json_values.h"

namespace windrow::keywords {
namespace {

namespace json = boost::json;
using grammar::Matcher;

// What is written so far, where the grammar is behind it.
struct Written {
  Matcher matcher;
  std::string text;

  bool add(std::string_view bytes) {
    if (!matcher.accept_bytes(bytes)) return false;
    text += bytes;
    return true;
  }
};

// Goes back as soon as the grammar does not go on.
class OrderSearch {
 public:
  using Then = std::function<bool(Written)>;

  OrderSearch(std::span<const std::string_view> names, int tries_max)
      : names_(names), tries_left_(tries_max) {}

  bool write(Written at, const json::value& value, const Then& then) {
    if (--tries_left_ < 0) return false;
    if (const json::object* object = value.if_object()) {
      if (!at.add("{")) return false;
      return members(std::move(at), *object, std::vector<bool>(object->size(), false), 0, then);
    }
    if (const json::array* array = value.if_array()) {
      return at.add("[") && items(std::move(at), *array, 0, then);
    }
    return at.add(grammar::compact_json(value)) && then(std::move(at));
  }

 private:
  bool members(Written at, const json::object& object, const std::vector<bool>& done, size_t count,
               const Then& then) {
    if (count == object.size()) return at.add("}") && then(std::move(at));
    bool others = false;  // a member of another name was tried
    for (size_t i = 0; i < object.size(); ++i) {
      if (done[i]) continue;
      const auto& member = *(object.begin() + static_cast<ptrdiff_t>(i));
      const bool known = std::ranges::find(names_, std::string_view(member.key())) != names_.end();
      if (!known && (others || count < known_count(object))) continue;
      others = others || !known;
      Written next = at;
      if (!next.add((count > 0 ? "," : "") + grammar::json_quoted(member.key()) + ":")) continue;
      std::vector<bool> more = done;
      more[i] = true;
      const bool found = write(std::move(next), member.value(), [&](Written behind) {
        return members(std::move(behind), object, more, count + 1, then);
      });
      if (found) return true;
    }
    return false;
  }

  size_t known_count(const json::object& object) const {
    return static_cast<size_t>(std::ranges::count_if(
        names_, [&](std::string_view name) { return object.contains(name); }));
  }

  bool items(Written at, const json::array& array, size_t index, const Then& then) {
    if (index == array.size()) return at.add("]") && then(std::move(at));
    if (index > 0 && !at.add(",")) return false;
    return write(std::move(at), array[index],
                 [&](Written behind) { return items(std::move(behind), array, index + 1, then); });
  }

  std::span<const std::string_view> names_;
  int tries_left_;
};

}  // namespace

std::optional<std::string> accepted_text(const Matcher& start, const json::value& value,
                                         std::span<const std::string_view> names, int tries_max) {
  std::optional<std::string> text;
  OrderSearch(names, tries_max).write({start, ""}, value, [&](Written at) {
    if (!at.matcher.can_end()) return false;
    text = std::move(at.text);
    return true;
  });
  return text;
}

}  // namespace windrow::keywords
