// The model families make_model knows: what each is called, its tiny default shape, its tensors and
// its metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace windrow::make_model {

enum class Family {
  kLlama,   // llama: grouped-query attention, no norms on queries and keys
  kQwen3,   // qwen3: with those norms
  kMoe,     // qwen3moe: a mixture of experts, normalised weights of the chosen ones
  kHybrid,  // lfm2: short convolutions (recurrent state) and attention in turn
  kSwa,     // olmo2: sliding-window and full attention in turn
  kBert,    // bert: an encoder, with mean pooling unless told otherwise
};

enum class WeightType { kF32, kF16, kQ8_0 };

// How the file says its embeddings are pooled, as GGUF files number it.
enum class Pooling : uint32_t {
  kUnsaid = 0,
  kMean = 1,
  kCls = 2,
  kLast = 3,  // texts then end with the end token, as those models have it
  kRank = 4,  // with a classification head; of kQwen3 also a template for reranking
};

struct Shape {
  int64_t layers = 0;
  int64_t embd = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ff = 0;  // of one expert in a mixture
  int64_t vocab = 0;
  int64_t ctx = 0;      // the context the model claims to be trained for
  int64_t window = 0;   // kSwa: positions a sliding-window layer sees
  int64_t experts = 0;  // kMoe
  int64_t experts_used = 0;
};

struct ModelSpec {
  Family family = Family::kLlama;
  WeightType type = WeightType::kF32;
  uint64_t seed = 1;
  Pooling pooling = Pooling::kUnsaid;
  bool tied = false;  // no output head of its own: the token embedding serves as one
  std::optional<std::string> chat_template;  // none: the file has no template
  Shape shape;
};

// In the order of the enums; the names the command line knows them by.
std::span<const std::string_view> family_names();
std::span<const std::string_view> type_names();
std::span<const std::string_view> pooling_names();

// The smallest shape of a family that still has all its features; a file of it is well under 2 MB.
Shape default_shape(Family family);

// The pooling in the file of a family, unless another one is asked for.
Pooling default_pooling(Family family);

// The ChatML template.
std::string_view chatml();

// Errors: kInvalid, naming the flag, for a shape the family cannot have.
Result<void> check(const ModelSpec& spec);

// How the values of a tensor are drawn.
enum class Fill {
  kNormal,  // mean 0 and standard deviation `scale`
  kGain,    // `scale` times a number in [0.75, 1.25): gains of norms
};

struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;  // the contiguous dimension first, as ggml counts them
  Fill fill = Fill::kNormal;
  double scale = 1;
  bool always_f32 = false;  // what ggml wants, or every quantiser leaves, as F32
};

// Every tensor of the file, in the order they are written. `spec` has passed check().
std::vector<TensorSpec> list_tensors(const ModelSpec& spec);

using MetaValue = std::variant<uint32_t, float, bool, std::string, std::vector<int32_t>,
                               std::vector<std::string>>;

struct MetaEntry {
  std::string key;
  MetaValue value;
};

// Metadata of the family and the vocabulary. `spec` has passed check().
std::vector<MetaEntry> list_metadata(const ModelSpec& spec);

}  // namespace windrow::make_model
