// libFuzzer: bodies of any bytes, the first of which chooses the endpoint.
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/testing/check_body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  windrow::api::testing::check_body(data[0], std::string(data + 1, data + size));
  return 0;
}
