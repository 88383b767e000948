// libFuzzer: any bytes give the same requests and the same end in pieces of any size as at once,
// within the limits.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ensure.h"
#include "http/request_parser.h"

namespace windrow::http {
namespace {

constexpr RequestLimits kLimits = {.head_bytes_max = 300, .headers_max = 6, .body_bytes_max = 50};

// Each request in a line, up to what is none.
std::string read(std::string_view bytes, size_t piece_bytes) {
  RequestParser parser(kLimits);
  std::string seen;
  std::string waiting;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    waiting += piece;
    for (;;) {
      size_t consumed = 0;
      const RequestParser::State state = parser.feed(waiting, consumed);
      ENSURE(consumed <= waiting.size(), "consumed {} of {}", consumed, waiting.size());
      waiting.erase(0, consumed);
      ENSURE(parser.body().size() <= kLimits.body_bytes_max, "a body of {}", parser.body().size());
      if (state == RequestParser::State::kFailed) {
        ENSURE(parser.failure_status() >= 400, "failed with {}", parser.failure_status());
        return seen;
      }
      if (state == RequestParser::State::kWantsMore) break;
      if (state == RequestParser::State::kHead) {
        if (parser.accept_body(kLimits.body_bytes_max) == RequestParser::State::kFailed)
          return seen;
        continue;
      }
      seen += fmt::format("{} {} {} <{}> {}\n", parser.method(), parser.path(), parser.query(),
                          parser.body(), parser.keep_alive());
      ENSURE(parser.headers().size() <= kLimits.headers_max, "{} headers", parser.headers().size());
      parser.next();
    }
  }
  return seen;
}

}  // namespace
}  // namespace windrow::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using windrow::http::read;
  if (size == 0) return 0;
  const size_t piece_bytes = 1 + data[0] % 32;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read(bytes, std::max<size_t>(bytes.size(), 1));
  const std::string pieces = read(bytes, piece_bytes);
  // A line without an end is refused once it is too long, and for what is wrong with it when its
  // end comes: so one of them may fail a little earlier. Requests before that are the same.
  const size_t both = std::min(whole.size(), pieces.size());
  ENSURE(whole.substr(0, both) == pieces.substr(0, both), "in pieces of {}: {} at once: {}",
         piece_bytes, pieces, whole);
  return 0;
}
