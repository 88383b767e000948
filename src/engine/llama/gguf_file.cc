#include "engine/llama/gguf_file.h"

#include <gguf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace windrow::engine {
namespace {

// A number for each layer, and no vocabulary.
constexpr size_t kListMax = 4096;

struct GgufFree {
  void operator()(gguf_context* file) const { gguf_free(file); }
};

template <class Number>
void append_numbers(std::span<const std::byte> bytes, std::vector<double>& numbers) {
  for (size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof number);
    numbers.push_back(static_cast<double>(number));
  }
}

size_t size_of(gguf_type type) {
  switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_INT8:
    case GGUF_TYPE_BOOL:
      return 1;
    case GGUF_TYPE_UINT16:
    case GGUF_TYPE_INT16:
      return 2;
    case GGUF_TYPE_UINT32:
    case GGUF_TYPE_INT32:
    case GGUF_TYPE_FLOAT32:
      return 4;
    case GGUF_TYPE_UINT64:
    case GGUF_TYPE_INT64:
    case GGUF_TYPE_FLOAT64:
      return 8;
    default:
      return 0;  // texts and lists of lists
  }
}

std::vector<double> numbers_in(std::span<const std::byte> bytes, gguf_type type) {
  std::vector<double> numbers;
  switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_BOOL:
      append_numbers<uint8_t>(bytes, numbers);
      break;
    case GGUF_TYPE_INT8:
      append_numbers<int8_t>(bytes, numbers);
      break;
    case GGUF_TYPE_UINT16:
      append_numbers<uint16_t>(bytes, numbers);
      break;
    case GGUF_TYPE_INT16:
      append_numbers<int16_t>(bytes, numbers);
      break;
    case GGUF_TYPE_UINT32:
      append_numbers<uint32_t>(bytes, numbers);
      break;
    case GGUF_TYPE_INT32:
      append_numbers<int32_t>(bytes, numbers);
      break;
    case GGUF_TYPE_FLOAT32:
      append_numbers<float>(bytes, numbers);
      break;
    case GGUF_TYPE_UINT64:
      append_numbers<uint64_t>(bytes, numbers);
      break;
    case GGUF_TYPE_INT64:
      append_numbers<int64_t>(bytes, numbers);
      break;
    case GGUF_TYPE_FLOAT64:
      append_numbers<double>(bytes, numbers);
      break;
    default:
      break;
  }
  return numbers;
}

}  // namespace

std::optional<GgufHeader> read_gguf_header(const std::string& path) {
  const std::unique_ptr<gguf_context, GgufFree> file(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  if (!file) return std::nullopt;
  GgufHeader header;
  for (int64_t i = 0; i < gguf_get_n_kv(file.get()); ++i) {
    const std::string key = gguf_get_key(file.get(), i);
    const gguf_type type = gguf_get_kv_type(file.get(), i);
    if (type == GGUF_TYPE_STRING) {
      if (key == "general.architecture") header.architecture = gguf_get_val_str(file.get(), i);
      continue;
    }
    const bool is_list = type == GGUF_TYPE_ARRAY;
    const gguf_type of = is_list ? gguf_get_arr_type(file.get(), i) : type;
    const size_t count = is_list ? gguf_get_arr_n(file.get(), i) : 1;
    if (size_of(of) == 0 || count > kListMax) continue;
    const void* data =
        is_list ? gguf_get_arr_data(file.get(), i) : gguf_get_val_data(file.get(), i);
    header.numbers[key] =
        numbers_in({static_cast<const std::byte*>(data), count * size_of(of)}, of);
  }
  return header;
}

}  // namespace windrow::engine
