// Base64Decoder: bytes of base64 text (RFC 4648, section 4) that arrives in pieces.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace windrow {

// Not thread-safe. The text is padded and has no line breaks; bits of the last character that
// belong to no byte are ignored, as other decoders do.
class Base64Decoder {
 public:
  // Appends to `bytes` what `text`, the next piece, completes. False if a character is not of the
  // alphabet, or if something comes after the padding; nothing more can be decoded then.
  [[nodiscard]] bool decode(std::string_view text, std::string& bytes);

  // Whether the pieces were a whole text; an empty one is.
  bool is_whole() const { return !failed_ && pending_ == 0; }

 private:
  bool fail();
  bool decode_group(const char* group, std::string& bytes);

  std::array<char, 4> group_{};  // the last `pending_` characters, which complete no group
  size_t pending_ = 0;
  bool ended_ = false;  // by padding
  bool failed_ = false;
};

}  // namespace windrow
