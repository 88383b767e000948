#include "jinja/ast.h"

namespace windrow::jinja {

Names::Names() {
  for (const std::string_view name : {"loop", "caller", "varargs", "kwargs"})
    id_of(name);
}

NameId Names::id_of(std::string_view name) {
  const auto [at, is_new] = ids_.try_emplace(std::string(name), static_cast<NameId>(all_.size()));
  if (is_new) all_.push_back(std::make_shared<const Text>(at->first, Origin::kTemplate));
  return at->second;
}

}  // namespace windrow::jinja
