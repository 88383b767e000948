#include "jinja/ast.h"

namespace windrow::jinja {

Names::Names() {
  for (const std::string_view name : {"loop", "caller", "varargs", "kwargs"})
    id_of(name);
}

std::optional<NameId> Names::find(std::string_view name) const {
  for (NameId id = 0; id < all_.size(); ++id) {
    if (all_[id]->bytes() == name) return id;
  }
  return std::nullopt;
}

NameId Names::id_of(std::string_view name) {
  if (const auto id = find(name)) return *id;
  all_.push_back(std::make_shared<const Text>(std::string(name), Origin::kTemplate));
  return static_cast<NameId>(all_.size() - 1);
}

}  // namespace windrow::jinja
