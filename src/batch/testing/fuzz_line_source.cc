// libFuzzer: any bytes, in pieces of any size, give the lines a plain split gives; packed or
// damaged ones give lines or an error, and nothing else.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ensure.h"
#include "batch/line_source.h"
#include "batch/testing/memory_input.h"
#include "batch/testing/naive_lines.h"

namespace {

using namespace std::string_view_literals;

// Announces something that is not plain UTF-8 text.
bool is_packed(std::string_view text) {
  const auto first = static_cast<uint8_t>(text.empty() ? 0 : text[0]);
  if ((first & 0xF0) == 0x50 && text.substr(1).starts_with("\x2A\x4D\x18"sv)) return true;
  for (const std::string_view start :
       {"\x1F\x8B"sv, "\x28\xB5\x2F\xFD"sv, "BZh"sv, "\xFD\x37zXZ\0"sv, "PK\x03\x04"sv,
        "\xFF\xFE"sv, "\xFE\xFF"sv}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace windrow::batch;
  if (size == 0) return 0;
  const size_t piece_bytes = 1 + data[0] % 64;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const LineLimits limits{.line_bytes_max = 40, .too_long_bytes_kept = 8};
  testing::MemoryInput input(text, {.piece_bytes = piece_bytes});
  auto source = open_lines(input, limits);
  const testing::ReadLines read = testing::read_lines(**source);
  if (is_packed(text)) return 0;
  ENSURE(read.error.empty(), "plain text has no error: {}", read.error);
  ENSURE(read.lines == testing::naive_lines(text, limits), "the lines differ from a plain split");
  return 0;
}
