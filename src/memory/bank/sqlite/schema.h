// The schema of a bank file, for store::Database::open.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace windrow::memory {

// "WdMb" in the header of a bank file (SQLite's application_id): other programs' databases lack it.
inline constexpr uint32_t kBankApplicationId = 0x57644D62;

// The n-th turns version n - 1 into version n.
std::span<const std::string_view> bank_versions();

}  // namespace windrow::memory
