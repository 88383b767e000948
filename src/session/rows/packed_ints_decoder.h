// PackedIntsDecoder: whole numbers that a server sends as base64 of little-endian int32, in any
// pieces, into PackedInts. Numbers at the beginning that are held already are skipped without being
// decoded: a reply has the rows of the whole conversation, of which only the last are new.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base64_decoder.h"
#include "session/rows/packed_ints.h"

namespace windrow::session {

// Pure; used by one thread.
class PackedIntsDecoder {
 public:
  // `values` outlives it. `skipped`: how many numbers are not appended.
  PackedIntsDecoder(PackedInts& values, uint64_t skipped);

  // The next piece of the text. False: it is not base64; nothing more can be decoded then.
  [[nodiscard]] bool take(std::string_view text);

  // Numbers in the text so far, skipped ones included. Exact once the text is complete.
  uint64_t values() const;

  // Whether the pieces were a whole text of whole numbers; an empty one is.
  bool is_whole() const;

 private:
  PackedInts& values_;
  const uint64_t skipped_;
  uint64_t skip_text_;   // characters that are still to be skipped
  uint64_t skip_bytes_;  // then decoded bytes
  uint64_t text_ = 0;
  Base64Decoder decoder_;
  std::string bytes_;  // decoded, less than a number behind the last call
  uint64_t decoded_ = 0;
  bool failed_ = false;
};

}  // namespace windrow::session
