#include "jinja/attribute_path.h"

#include "jinja/number.h"
#include "jinja/text_functions.h"

namespace windrow::jinja {

AttributePath::AttributePath(const Value& attribute, const Value* otherwise) {
  if (otherwise != nullptr && !otherwise->is_none()) {
    otherwise_ = *otherwise;
    has_otherwise_ = true;
  }
  if (attribute.is_none()) return;
  if (!attribute.is_text()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string& path = attribute.text()->bytes();
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool is_index =
        !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    const auto index = is_index ? parse_integer(part, 10) : std::nullopt;
    parts_.push_back(index ? Value(*index)
                           : Value(std::make_shared<const Text>(part, Origin::kTemplate)));
    begin = end + 1;
  }
}

Value AttributePath::of(Runtime& runtime, const Value& item) const {
  Value found = item;
  for (const Value& part : parts_) {
    found = get_item(runtime, found, part);
    if (has_otherwise_ && found.is_undefined()) found = otherwise_;
  }
  return found;
}

Value without_case(Runtime& runtime, const Value& value) {
  if (!value.is_text()) return value;
  return Value(change_case(runtime, *value.text(), Case::kLower));
}

}  // namespace windrow::jinja
