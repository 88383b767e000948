// Unpacks bodies that are packed by gzip (RFC 1952). Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::http {

// `packed`: one gzip member or several. Memory grows with the output, at most to `bytes_max` and a
// block. kInvalid: it is damaged or cut off. kNoSpace: it unpacks to more than `bytes_max`.
Result<std::string> gunzip(std::string_view packed, size_t bytes_max);

}  // namespace windrow::http
