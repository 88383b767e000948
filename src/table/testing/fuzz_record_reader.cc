// libFuzzer: any bytes, in pieces of any size, give records or an error, and nothing else; every
// format, each record on a line of its own behind the one before.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ensure.h"
#include "batch/testing/memory_input.h"
#include "table/record_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace windrow;
  if (size == 0) return 0;
  const auto format = static_cast<table::RecordFormat>(data[0] % 4);
  const size_t piece_bytes = 1 + data[0] / 4;
  batch::testing::MemoryInput input(std::string(reinterpret_cast<const char*>(data) + 1, size - 1),
                                    {.piece_bytes = piece_bytes});
  const auto reader = table::open_records(input, {.format = format, .record_bytes_max = 1000});
  if (!reader) return 0;
  uint64_t line = 0;
  for (;;) {
    const auto record = (*reader)->next();
    if (!record || !*record) return 0;
    ENSURE((*record)->line > line, "line {} comes after line {}", (*record)->line, line);
    line = (*record)->line;
  }
}
