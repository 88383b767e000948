// "12G", "1.5GiB", "800MB": an amount of memory as people write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow::app {

// K, M, G and T are powers of 1024, with "iB" behind them or not; with "B" alone powers of 1000. A
// number alone is bytes. Absent: it is none of these, or more than there can be.
std::optional<uint64_t> parse_memory_size(std::string_view text);

}  // namespace windrow::app
