// PackedIntsDecoder: whole numbers that a server sends as base64 of little-endian int32, in any
// pieces, into PackedInts. Numbers at the beginning that are held already are skipped without being
// decoded: a reply has the rows of the whole conversation, of which only the last are new.
#pragma once

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

  // The next piece of the text. False: it is not base64; nothing more can be decoded then. Of what
  // is skipped only its length and its padding are looked at.
  [[nodiscard]] bool take(std::string_view text);

  // Numbers in the text so far, skipped ones included. Exact once the text is complete.
  uint64_t values() const { return bytes() / sizeof(int32_t); }

  // Whether the pieces were a whole text of whole numbers; an empty one is.
  bool is_whole() const;

 private:
  void skip(std::string_view& text);
  bool decode(std::string_view text);
  uint64_t bytes() const;  // of the numbers so far

  PackedInts& values_;
  uint64_t text_to_skip_;      // characters that are still to be skipped: whole groups of four
  size_t bytes_to_skip_;       // then bytes of the first group that is decoded
  uint64_t skipped_text_ = 0;  // characters
  size_t padding_ = 0;         // behind the characters skipped so far
  uint64_t decoded_ = 0;       // bytes
  Base64Decoder decoder_;
  std::string bytes_;  // decoded, less than a number between two calls
  bool failed_ = false;
};

}  // namespace windrow::session
