// What a body packed by gzip (RFC 1952) unpacks to. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::http {

// One member or several, as they stand. Memory grows with what comes out, never past `bytes_max`
// and a block. kInvalid: it is damaged, or cut off; kNoSpace: it unpacks to more than `bytes_max`.
Result<std::string> gunzip(std::string_view packed, size_t bytes_max);

}  // namespace windrow::http
