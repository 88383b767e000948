// The part of a file that a request wants: its header Range (RFC 9110, 14). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::api {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // one behind the last

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

enum class RangeKind : uint8_t {
  kWhole,  // none is asked for, or what is asked for is passed over: several at once, other units
  kPart,
  kNone,  // it begins behind the end: 416
};

struct WantedRange {
  RangeKind kind = RangeKind::kWhole;
  ByteRange range;

  friend bool operator==(const WantedRange&, const WantedRange&) = default;
};

// "bytes=0-499", "bytes=500-", "bytes=-500" of so many.
WantedRange wanted_range(const std::optional<std::string_view>& header, uint64_t size);

// "bytes 0-499/1234"; for kNone "bytes */1234".
std::string content_range(const WantedRange& wanted, uint64_t size);

}  // namespace windrow::api
