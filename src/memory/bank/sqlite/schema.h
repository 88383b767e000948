// The schema of a bank file, for store::Database::open.
#pragma once

#include <span>
#include <string_view>

namespace windrow::memory {

// The n-th turns version n - 1 into version n.
std::span<const std::string_view> bank_versions();

}  // namespace windrow::memory
