// Decompression of gzip and zstd.
#pragma once

#include <memory>

#include "batch/input.h"

namespace windrow::batch {

// Decompresses `packed` if its first bytes are those of gzip or zstd; other bytes pass unchanged.
// read() fails with kInvalid, after all bytes that could be decompressed, if the data is damaged,
// cut off, or in a format that is recognised but not supported (bzip2, xz, zip).
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> packed);

}  // namespace windrow::batch
