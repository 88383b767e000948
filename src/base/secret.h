// Secrets: bytes nobody can guess, and a comparison that tells nothing of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow {

// From the system's own source. Blocks at most at the start of the machine.
std::string secret_bytes(size_t count);

// Whether they are the same. Of two texts of one length it takes the same time wherever they
// differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace windrow
