#include "session/replies/npy_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace windrow::session {

namespace {

constexpr size_t kTextStep = size_t{1} << 16;
constexpr size_t kMagicBytes = 8;  // with the version
constexpr size_t kHeaderBytesMax = 4096;

uint64_t little_endian(const char* bytes, size_t count) {
  uint64_t number = 0;
  for (size_t i = count; i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

// What follows `'name':` in the header, which is a Python dictionary.
std::string_view header_value(std::string_view header, std::string_view name) {
  const std::string quoted = fmt::format("'{}':", name);
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

}  // namespace

bool NpyDecoder::fail(std::string why) {
  wrong_ = std::move(why);
  return false;
}

bool NpyDecoder::take(std::string_view text) {
  // In steps, so that what is decoded stays small whatever the text's length.
  while (!text.empty()) {
    const std::string_view step = text.substr(0, kTextStep);
    text.remove_prefix(step.size());
    if (!decoder_.decode(step, bytes_)) return fail("it is not base64");
    if (!has_header_ && !read_header()) return false;
    if (has_header_ && !read_numbers()) return false;
  }
  return true;
}

// True where more bytes are needed, too.
bool NpyDecoder::read_header() {
  if (bytes_.size() < kMagicBytes) return true;
  const size_t length_bytes = bytes_[6] == 1 ? 2 : 4;
  const size_t begin = kMagicBytes + length_bytes;
  if (bytes_.size() < begin) return true;
  const uint64_t length = little_endian(bytes_.data() + kMagicBytes, length_bytes);
  if (length > kHeaderBytesMax) {
    return fail(fmt::format("its NumPy header has {} bytes, which is more than {}", length,
                            kHeaderBytesMax));
  }
  if (bytes_.size() < begin + length) return true;
  const std::string_view header = std::string_view(bytes_).substr(begin, length);
  if (!header_value(header, "fortran_order").starts_with("False"))
    return fail("its NumPy header does not say that the order is that of C");
  if (!read_width(header) || !read_shape(header)) return false;
  bytes_.erase(0, begin + length);
  has_header_ = true;
  return true;
}

bool NpyDecoder::read_width(std::string_view header) {
  const std::string_view value = header_value(header, "descr");
  const std::string_view type = value.size() < 5 ? std::string_view() : value.substr(1, 3);
  constexpr std::string_view kTypes[] = {"|u1", "|i1", "<u2", "<i2", "<i4", "<u4", "<i8", "<u8"};
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
    return fail(fmt::format("its NumPy type is not one of whole numbers, little endian: {}",
                            value.substr(0, std::min(value.find(','), size_t{20}))));
  }
  is_signed_ = type[1] == 'i';
  width_ = static_cast<size_t>(type[2] - '0');
  return true;
}

bool NpyDecoder::read_shape(std::string_view header) {
  std::string_view value = header_value(header, "shape");
  const size_t end = value.find(')');
  if (!value.starts_with('(') || end == std::string_view::npos)
    return fail("its NumPy header has no shape");
  value = value.substr(1, end - 1);
  constexpr uint64_t kCountMax = uint64_t{1} << 40;
  count_ = 1;
  while (!value.empty()) {
    const std::string_view part = value.substr(0, value.find(','));
    value.remove_prefix(std::min(part.size() + 1, value.size()));
    const size_t begin = part.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    uint64_t size = 0;
    const char* part_end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data() + begin, part_end, size);
    if (error != std::errc() || rest != part_end || size > kCountMax ||
        (size > 0 && count_ > kCountMax / size))
      return fail(fmt::format("its NumPy shape cannot be read at '{}'", part));
    shape_.push_back(size);
    count_ *= size;
  }
  return true;
}

int64_t NpyDecoder::number_at(const char* bytes) const {
  const uint64_t number = little_endian(bytes, width_);
  if (!is_signed_) {
    // A larger one is no int32 either way, and is refused as that.
    return static_cast<int64_t>(
        std::min(number, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  }
  const unsigned unused = static_cast<unsigned>(64 - 8 * width_);
  return static_cast<int64_t>(number << unused) >> unused;
}

bool NpyDecoder::read_numbers() {
  const uint64_t there = bytes_.size() / width_;
  if (there > count_ - read_ || (there == count_ - read_ && bytes_.size() % width_ != 0))
    return fail(fmt::format("it has more numbers than the {} of its shape", count_));
  const uint64_t skip = std::min(there, skipped_ > read_ ? skipped_ - read_ : 0);
  block_.clear();
  for (uint64_t i = skip; i < there; ++i) {
    const int64_t number = number_at(bytes_.data() + i * width_);
    if (number != static_cast<int32_t>(number))
      return fail(fmt::format("number {} of it does not fit 32 bits: {}", read_ + i, number));
    block_.push_back(static_cast<int32_t>(number));
  }
  values_.append(block_);
  read_ += there;
  bytes_.erase(0, there * width_);
  return true;
}

bool NpyDecoder::end() {
  if (!decoder_.is_whole()) return fail("its base64 text ends within a group of characters");
  if (!has_header_) return fail("its NumPy header ends too early");
  if (read_ < count_ || !bytes_.empty())
    return fail(fmt::format("it has {} of the {} numbers of its shape", read_, count_));
  return true;
}

}  // namespace windrow::session
