// Bytes as they were before gzip or zstd.
#pragma once

#include <memory>

#include "batch/input.h"

namespace windrow::batch {

// Looks at the first bytes of `packed` when first read and undoes what they announce; anything else
// passes as it is. read() fails with kInvalid, after all bytes that could be had, when the data is
// damaged, stops short, or is of a kind that is known but not read (bzip2, xz, zip).
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> packed);

}  // namespace windrow::batch
