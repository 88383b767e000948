#include "engine/llama/gguf_header.h"

#include <fmt/format.h>
#include <gguf.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace windrow::engine {
namespace {

// Of libllama 0.7: LLAMA_MAX_LAYERS and LLAMA_MAX_EXPERTS.
constexpr double kLayersMax = 512;
constexpr double kExpertsMax = 1024;

constexpr double kPoolingTypeMax = 4;  // rank

// What the graphs of some architectures assert besides (tests/facts/headers_test.cc). Of the others
// libllama's own assertion is turned into an error (abort_guard.h).
struct GraphRules {
  std::string_view architecture;
  bool rotates_whole_heads = false;  // rope.dimension_count is the size of a head
  bool rotates = false;              // a pass with 0 dimensions never comes to an end
  bool keys_are_as_long_as_values = false;
  bool heads_fill_embedding = false;  // their sizes together are embedding_length
  bool has_windows = false;           // with a window, some layers have to have it
};

constexpr std::array<GraphRules, 6> kGraphRules = {{
    {.architecture = "bert", .keys_are_as_long_as_values = true, .heads_fill_embedding = true},
    {.architecture = "lfm2", .rotates = true, .heads_fill_embedding = true},
    {.architecture = "lfm2moe", .rotates = true},
    {.architecture = "olmo2",
     .rotates_whole_heads = true,
     .keys_are_as_long_as_values = true,
     .has_windows = true},
    {.architecture = "qwen3", .rotates_whole_heads = true},
    {.architecture = "qwen3moe", .rotates_whole_heads = true},
}};

GraphRules rules_of(std::string_view architecture) {
  const auto* found = std::ranges::find(kGraphRules, architecture, &GraphRules::architecture);
  return found == kGraphRules.end() ? GraphRules{} : *found;
}

// The checks of one header. Each tells the first value that is wrong.
class HeaderCheck {
 public:
  explicit HeaderCheck(const GgufHeader& header)
      : header_(header), rules_(rules_of(header.architecture)) {}

  Result<void> run() const {
    for (const auto check : {&HeaderCheck::layers, &HeaderCheck::context, &HeaderCheck::epsilons,
                             &HeaderCheck::experts, &HeaderCheck::pooling, &HeaderCheck::heads,
                             &HeaderCheck::rotation, &HeaderCheck::windows}) {
      if (Result<void> checked = (this->*check)(); !checked) return checked;
    }
    return {};
  }

 private:
  Error refused(std::string_view name, double value, std::string_view allowed) const {
    return Error{ErrorKind::kInvalid,
                 fmt::format("the header says {}.{} = {}, and libllama takes {}; {}",
                             header_.architecture, name, value, allowed, kNewFileAdvice)};
  }

  const std::vector<double>* list(std::string_view name) const {
    const auto found = header_.numbers.find(fmt::format("{}.{}", header_.architecture, name));
    return found == header_.numbers.end() || found->second.empty() ? nullptr : &found->second;
  }

  Result<void> layers() const {
    const std::optional<double> count = header_.number("block_count");
    if (!count || (*count >= 1 && *count <= kLayersMax)) return {};
    return refused("block_count", *count, fmt::format("1 to {} layers", kLayersMax));
  }

  Result<void> context() const {
    constexpr double kContextMax = std::numeric_limits<int32_t>::max();
    const std::optional<double> length = header_.number("context_length");
    if (!length || (*length >= 1 && *length <= kContextMax)) return {};
    return refused("context_length", *length, fmt::format("1 to {:.0f} tokens", kContextMax));
  }

  Result<void> epsilons() const {
    for (const std::string_view name :
         {"attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon",
          "attention.group_norm_epsilon"}) {
      const std::optional<double> epsilon = header_.number(name);
      if (!epsilon || (std::isfinite(*epsilon) && *epsilon >= 0)) continue;
      return refused(name, *epsilon, "a finite number that is not negative");
    }
    return {};
  }

  Result<void> experts() const {
    const double count = header_.number("expert_count").value_or(0);
    if (count < 0 || count > kExpertsMax)
      return refused("expert_count", count, fmt::format("0 to {}", kExpertsMax));
    const std::vector<double>* used = list("expert_used_count");
    const double used_max = used == nullptr ? 0 : std::ranges::max(*used);
    if (used_max > count || (count > 0 && used_max < 1)) {
      return refused("expert_used_count", used_max,
                     count > 0 ? fmt::format("1 to {} of {} experts", count, count)
                               : "0, or none, where expert_count is 0");
    }
    return {};
  }

  Result<void> pooling() const {
    const std::optional<double> type = header_.number("pooling_type");
    if (!type || (*type >= 0 && *type <= kPoolingTypeMax)) return {};
    return refused("pooling_type", *type, "0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)");
  }

  // Absent: the sizes differ by layer, or there is no attention.
  std::optional<double> head_size() const {
    if (const std::optional<double> length = header_.number("attention.key_length")) return length;
    const std::optional<double> heads = header_.number("attention.head_count");
    const std::optional<double> embedding = header_.number("embedding_length");
    if (!heads || !embedding || *heads < 1) return std::nullopt;
    return std::floor(*embedding / *heads);
  }

  Result<void> heads() const {
    const std::optional<double> count = header_.number("attention.head_count");
    // Models without attention have 0 heads, and say nothing else of them.
    const double keys = header_.number("attention.key_length").value_or(0);
    const double key_heads = header_.number("attention.head_count_kv").value_or(0);
    if (count && *count < 1 && (keys > 0 || key_heads > 0))
      return refused("attention.head_count", *count, "1 or more beside the length of its keys");
    const std::optional<double> size = head_size();
    const std::optional<double> values = header_.number("attention.value_length");
    if (rules_.keys_are_as_long_as_values && size && values && *size != *values) {
      return refused("attention.key_length", *size,
                     fmt::format("{}, the attention.value_length", *values));
    }
    const std::optional<double> embedding = header_.number("embedding_length");
    if (rules_.heads_fill_embedding && count && size && embedding && *count * *size != *embedding) {
      return refused(
          "attention.head_count", *count,
          fmt::format("as many heads of {} as fill the embedding_length {}", *size, *embedding));
    }
    return {};
  }

  Result<void> rotation() const {
    constexpr std::string_view kName = "rope.dimension_count";
    const std::optional<double> count = header_.number(kName);
    const std::optional<double> size = head_size();
    if (!count || !size || header_.number("attention.head_count").value_or(1) < 1) return {};
    if (rules_.rotates_whole_heads && *count != *size)
      return refused(kName, *count, fmt::format("{}, the size of a head", *size));
    // Such models may say it and rotate nothing.
    if (header_.number("ssm.state_size")) return {};
    const double least = rules_.rotates ? 2 : 0;
    if (*count < least || *count > *size || std::fmod(*count, 2) != 0) {
      return refused(kName, *count,
                     fmt::format("an even number from {} to {}, the size of a head", least, *size));
    }
    return {};
  }

  Result<void> windows() const {
    constexpr std::string_view kName = "attention.sliding_window_pattern";
    const bool all_whole = rules_.has_windows && header_.number(kName) == 1.0;
    if (!all_whole || header_.number("attention.sliding_window").value_or(0) < 1) return {};
    return refused(kName, 1, "2 or more beside an attention.sliding_window");
  }

  const GgufHeader& header_;
  const GraphRules rules_;
};

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

std::optional<double> GgufHeader::number(std::string_view name) const {
  const auto found = numbers.find(fmt::format("{}.{}", architecture, name));
  if (found == numbers.end() || found->second.size() != 1) return std::nullopt;
  return found->second.front();
}

Result<void> check_header(const GgufHeader& header) {
  return HeaderCheck(header).run();
}

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
