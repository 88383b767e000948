#include "jinja/function.h"

#include "jinja/failure.h"
#include "jinja/number.h"

namespace windrow::jinja {

Bound::Bound(const Arguments& arguments, std::string_view function,
             std::initializer_list<std::string_view> names, size_t required)
    : function_(function), values_(names.size(), nullptr) {
  if (arguments.positional.size() > names.size()) {
    fail("'{}' takes at most {} arguments, not {}", function, names.size(),
         arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    size_t i = 0;
    for (const std::string_view parameter : names) {
      if (!parameter.empty() && parameter == name->bytes()) break;
      ++i;
    }
    if (i == names.size()) fail("'{}' has no parameter '{}'", function, name->bytes());
    if (values_[i] != nullptr) {
      fail("'{}' is given its argument '{}' twice", function, name->bytes());
    }
    values_[i] = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) fail("'{}' needs {} arguments or more", function, required);
  }
}

int64_t Bound::integer(size_t i, int64_t otherwise) const {
  if (!has(i)) return otherwise;
  return to_index(*values_[i], fmt::format("an argument of '{}'", function_));
}

const TextPtr& Bound::text(size_t i) const {
  if (!values_[i]->is_text()) {
    fail("an argument of '{}' must be a string, not '{}'", function_, type_name(*values_[i]));
  }
  return values_[i]->text();
}

void Function::print(Runtime&, TextBuilder& out) {
  out.append(fmt::format("<function {}>", name_), Origin::kTemplate);
}

void Method::print(Runtime&, TextBuilder& out) {
  out.append(fmt::format("<built-in method {} of {} object>", name_, jinja::type_name(self_)),
             Origin::kTemplate);
}

}  // namespace windrow::jinja
