// NpyDecoder: an array of whole numbers that a server sends as base64 of a NumPy file
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), in any pieces, into
// PackedInts. Pure; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64_decoder.h"
#include "session/rows/packed_ints.h"

namespace windrow::session {

class NpyDecoder {
 public:
  // How the base64 text of every NumPy file begins.
  static constexpr std::string_view kTextBegins = "k05VTVBZ";

  // `values` outlives it. `skipped`: how many numbers at the beginning are not appended.
  NpyDecoder(PackedInts& values, uint64_t skipped) : values_(values), skipped_(skipped) {}

  // The next piece of the text. False: wrong() says why it cannot be read.
  [[nodiscard]] bool take(std::string_view text);

  // The text is complete. False: it ended too early.
  [[nodiscard]] bool end();

  // What the header told; empty before it was read.
  const std::vector<uint64_t>& shape() const { return shape_; }
  uint64_t values() const { return count_; }

  const std::string& wrong() const { return wrong_; }

 private:
  bool fail(std::string why);
  bool read_header();
  bool read_shape(std::string_view header);
  bool read_width(std::string_view header);
  bool read_numbers();
  int64_t number_at(const char* bytes) const;

  PackedInts& values_;
  uint64_t skipped_;
  Base64Decoder decoder_;
  std::string bytes_;  // decoded, and not used yet
  bool has_header_ = false;
  std::vector<uint64_t> shape_;
  uint64_t count_ = 0;  // numbers that the shape tells
  uint64_t read_ = 0;   // numbers so far
  size_t width_ = 0;    // bytes a number
  bool is_signed_ = false;
  std::vector<int32_t> block_;
  std::string wrong_;
};

}  // namespace windrow::session
