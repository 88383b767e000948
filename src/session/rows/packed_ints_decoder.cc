#include "session/rows/packed_ints_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace windrow::session {
namespace {

static_assert(std::endian::native == std::endian::little);

// Text that is decoded at once, so that the numbers of it are appended while they are in the
// nearest cache.
constexpr size_t kPieceText = size_t{16} << 10;

}  // namespace

PackedIntsDecoder::PackedIntsDecoder(PackedInts& values, uint64_t skipped)
    : values_(values),
      text_to_skip_(skipped * sizeof(int32_t) / 3 * 4),
      bytes_to_skip_(skipped * sizeof(int32_t) % 3) {}

void PackedIntsDecoder::skip(std::string_view& text) {
  const auto count = static_cast<size_t>(std::min<uint64_t>(text_to_skip_, text.size()));
  if (count == 0) return;
  const std::string_view skipped = text.substr(0, count);
  const size_t last = skipped.find_last_not_of('=');
  padding_ = last == std::string_view::npos ? padding_ + count : count - 1 - last;
  skipped_text_ += count;
  text_to_skip_ -= count;
  text.remove_prefix(count);
}

bool PackedIntsDecoder::decode(std::string_view text) {
  if (!decoder_.decode(text, bytes_)) return false;
  std::array<int32_t, kPieceText / 4 * 3 / sizeof(int32_t) + 2> numbers;
  const size_t begin = std::min(bytes_to_skip_, bytes_.size());
  bytes_to_skip_ -= begin;
  const size_t count = (bytes_.size() - begin) / sizeof(int32_t);
  const size_t end = begin + count * sizeof(int32_t);
  std::memcpy(numbers.data(), bytes_.data() + begin, end - begin);
  values_.append(std::span<const int32_t>(numbers).first(count));
  decoded_ += end;
  bytes_.erase(0, end);
  return true;
}

bool PackedIntsDecoder::take(std::string_view text) {
  if (failed_) return false;
  skip(text);
  if (!text.empty() && padding_ > 0) failed_ = true;  // it was complete
  while (!failed_ && !text.empty()) {
    const std::string_view piece = text.substr(0, kPieceText);
    failed_ = !decode(piece);
    text.remove_prefix(piece.size());
  }
  return !failed_;
}

uint64_t PackedIntsDecoder::bytes() const {
  const uint64_t skipped = skipped_text_ / 4 * 3;
  return skipped - std::min<uint64_t>(skipped, padding_) + decoded_ + bytes_.size();
}

bool PackedIntsDecoder::is_whole() const {
  return !failed_ && padding_ <= 2 && skipped_text_ % 4 == 0 && decoder_.is_whole() &&
         bytes() % sizeof(int32_t) == 0;
}

}  // namespace windrow::session
