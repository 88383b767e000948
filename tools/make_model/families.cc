#include "make_model/families.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "make_model/vocabulary.h"

namespace windrow::make_model {

namespace {

constexpr std::array<std::string_view, 6> kFamilyNames = {"llama",  "qwen3", "moe",
                                                          "hybrid", "swa",   "bert"};
constexpr std::array<std::string_view, 3> kTypeNames = {"f32", "f16", "q8_0"};
constexpr std::array<std::string_view, 5> kPoolingNames = {"unsaid", "mean", "cls", "last", "rank"};

constexpr int64_t kQuantBlock = 32;  // weights a Q8_0 block holds
constexpr int64_t kConvolution = 3;  // positions a short convolution of kHybrid sees
constexpr int64_t kSwaPeriod = 2;    // every second layer of kSwa has full attention

// The deviations of a random model's numbers that make it behave like a trained one where tests
// look (README.md, "Sharpened").
constexpr double kLogitDeviation = 3.0;
constexpr double kAttentionSharpness = 1.5;

// With a tied head the embedding must be small beside what the layers add, or every token would
// predict itself.
constexpr double kTiedEmbedding = 0.02;

std::string_view architecture_of(Family family) {
  switch (family) {
    case Family::kLlama:
      return "llama";
    case Family::kQwen3:
      return "qwen3";
    case Family::kMoe:
      return "qwen3moe";
    case Family::kHybrid:
      return "lfm2";
    case Family::kSwa:
      return "olmo2";
    case Family::kBert:
      return "bert";
  }
  return "";
}

// The layers of kHybrid: a convolution, an attention, a convolution, ...
bool is_convolution_layer(int64_t layer) {
  return layer % 2 == 0;
}

Result<void> check_range(std::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("--{} {} is out of range: give {} to {}", flag, value, least, most)};
}

Result<void> check_multiple(std::string_view flag, int64_t value, int64_t of) {
  if (value % of == 0) return {};
  return Error{ErrorKind::kInvalid,
               fmt::format("--{} {} must be a multiple of {} with --type q8_0", flag, value, of)};
}

// One family's tensors are listed by one method; what families share is a method of its own.
class TensorLister {
 public:
  explicit TensorLister(const ModelSpec& spec)
      : spec_(spec),
        shape_(spec.shape),
        query_width_(shape_.heads * shape_.head_dim),
        kv_width_(shape_.kv_heads * shape_.head_dim) {}

  std::vector<TensorSpec> list() && {
    if (spec_.family == Family::kBert) {
      add_encoder();
    } else {
      add_decoder();
    }
    return std::move(tensors_);
  }

 private:
  void add_decoder() {
    const double root = std::sqrt(static_cast<double>(shape_.embd));
    add("token_embd.weight", {shape_.embd, shape_.vocab}, Fill::kNormal,
        spec_.tied ? kTiedEmbedding : 1.0);

    // The last norm's gain carries the deviation of the logits: it does so with and without a head
    // of its own, and stays F32 whatever the weights are. LFM2 files call that norm
    // token_embd_norm.
    const double head = spec_.tied ? kTiedEmbedding : 1.0 / root;
    const double gain = kLogitDeviation / (head * root);
    add(spec_.family == Family::kHybrid ? "token_embd_norm.weight" : "output_norm.weight",
        {shape_.embd}, Fill::kGain, gain);
    if (!spec_.tied) {
      add("output.weight", {shape_.embd, shape_.vocab}, Fill::kNormal, head);
    }

    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      prefix_ = fmt::format("blk.{}.", layer);
      // OLMo 2 has its norms after attention and feed-forward, the others before.
      const bool norms_after = spec_.family == Family::kSwa;
      if (!norms_after) add_norm("attn_norm");
      if (spec_.family == Family::kHybrid && is_convolution_layer(layer)) {
        add_convolution();
      } else {
        add_attention();
      }
      add_norm(norms_after ? "post_attention_norm" : "ffn_norm");
      if (spec_.family == Family::kMoe) {
        add_experts();
      } else {
        add_matrix("ffn_gate", shape_.embd, shape_.ff);
        add_matrix("ffn_up", shape_.embd, shape_.ff);
        add_matrix("ffn_down", shape_.ff, shape_.embd);
      }
      if (norms_after) add_norm("post_ffw_norm");
    }
    // Two classes, of which libllama takes the softmax.
    if (spec_.pooling == Pooling::kRank) add_classifier(2);
  }

  void add_attention() {
    const bool has_norms = spec_.family != Family::kLlama;
    add_matrix("attn_q", shape_.embd, query_width_, has_norms ? 1.0 : kAttentionSharpness);
    add_matrix("attn_k", shape_.embd, kv_width_);
    add_matrix("attn_v", shape_.embd, kv_width_);
    add_matrix("attn_output", query_width_, shape_.embd);
    if (!has_norms) return;
    // OLMo 2 norms queries and keys over all heads, the others head by head.
    const bool over_heads = spec_.family == Family::kSwa;
    add(prefix_ + "attn_q_norm.weight", {over_heads ? query_width_ : shape_.head_dim}, Fill::kGain,
        kAttentionSharpness);
    add(prefix_ + "attn_k_norm.weight", {over_heads ? kv_width_ : shape_.head_dim}, Fill::kGain,
        1.0);
  }

  void add_convolution() {
    add_matrix("shortconv.in_proj", shape_.embd, 3 * shape_.embd);
    add(prefix_ + "shortconv.conv.weight", {kConvolution, shape_.embd}, Fill::kNormal,
        1.0 / std::sqrt(static_cast<double>(kConvolution)));
    tensors_.back().always_f32 = true;
    add_matrix("shortconv.out_proj", shape_.embd, shape_.embd);
  }

  void add_experts() {
    add_matrix("ffn_gate_inp", shape_.embd, shape_.experts);
    tensors_.back().always_f32 = true;
    add_expert_matrix("ffn_gate_exps", shape_.embd, shape_.ff);
    add_expert_matrix("ffn_up_exps", shape_.embd, shape_.ff);
    add_expert_matrix("ffn_down_exps", shape_.ff, shape_.embd);
  }

  void add_encoder() {
    add("token_embd.weight", {shape_.embd, shape_.vocab}, Fill::kNormal, 1.0);
    add("position_embd.weight", {shape_.embd, shape_.ctx}, Fill::kNormal, 0.3);
    tensors_.back().always_f32 = true;
    add("token_types.weight", {shape_.embd, 2}, Fill::kNormal, 0.1);
    tensors_.back().always_f32 = true;
    prefix_.clear();
    add_norm_with_bias("token_embd_norm");

    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      prefix_ = fmt::format("blk.{}.", layer);
      add_matrix_with_bias("attn_q", shape_.embd, query_width_, kAttentionSharpness);
      add_matrix_with_bias("attn_k", shape_.embd, kv_width_);
      add_matrix_with_bias("attn_v", shape_.embd, kv_width_);
      add_matrix_with_bias("attn_output", query_width_, shape_.embd);
      add_norm_with_bias("attn_output_norm");
      add_matrix_with_bias("ffn_up", shape_.embd, shape_.ff);
      add_matrix_with_bias("ffn_down", shape_.ff, shape_.embd);
      add_norm_with_bias("layer_output_norm");
    }
    if (spec_.pooling == Pooling::kRank) {
      prefix_.clear();
      add_matrix_with_bias("cls", shape_.embd, shape_.embd);
      add_classifier(1);
      add_bias("cls.output", 1);
    }
  }

  void add_classifier(int64_t classes) {
    prefix_.clear();
    add_matrix("cls.output", shape_.embd, classes);
    tensors_.back().always_f32 = true;
  }

  // Keeps the variance of what goes through it, times gain^2.
  void add_matrix(std::string_view name, int64_t in, int64_t out, double gain = 1.0) {
    add(fmt::format("{}{}.weight", prefix_, name), {in, out}, Fill::kNormal,
        gain / std::sqrt(static_cast<double>(in)));
  }

  void add_expert_matrix(std::string_view name, int64_t in, int64_t out) {
    add(fmt::format("{}{}.weight", prefix_, name), {in, out, shape_.experts}, Fill::kNormal,
        1.0 / std::sqrt(static_cast<double>(in)));
  }

  void add_matrix_with_bias(std::string_view name, int64_t in, int64_t out, double gain = 1.0) {
    add_matrix(name, in, out, gain);
    add_bias(name, out);
  }

  void add_norm(std::string_view name) {
    add(fmt::format("{}{}.weight", prefix_, name), {shape_.embd}, Fill::kGain, 1.0);
  }

  void add_norm_with_bias(std::string_view name) {
    add_norm(name);
    add_bias(name, shape_.embd);
  }

  void add_bias(std::string_view name, int64_t width) {
    add(fmt::format("{}{}.bias", prefix_, name), {width}, Fill::kNormal, 0.1);
  }

  void add(std::string name, std::vector<int64_t> shape, Fill fill, double scale) {
    tensors_.push_back({std::move(name), std::move(shape), fill, scale});
  }

  const ModelSpec& spec_;
  const Shape& shape_;
  const int64_t query_width_;
  const int64_t kv_width_;
  std::string prefix_;
  std::vector<TensorSpec> tensors_;
};

uint32_t u32(int64_t value) {
  return static_cast<uint32_t>(value);
}

void add_hyperparameters(const ModelSpec& spec, std::vector<MetaEntry>& entries) {
  const Shape& shape = spec.shape;
  const auto add = [&](std::string_view key, MetaValue value) {
    entries.push_back({fmt::format("{}.{}", architecture_of(spec.family), key), std::move(value)});
  };
  const auto add_pooling = [&] {
    if (spec.pooling == Pooling::kUnsaid) return;
    add("pooling_type", static_cast<uint32_t>(spec.pooling));
  };
  add("block_count", u32(shape.layers));
  add("context_length", u32(shape.ctx));
  add("embedding_length", u32(shape.embd));
  add("feed_forward_length", u32(shape.ff));
  add("vocab_size", u32(shape.vocab));
  add("attention.head_count", u32(shape.heads));
  if (spec.family == Family::kHybrid) {  // a layer without KV heads is a convolution
    std::vector<int32_t> kv_heads(static_cast<size_t>(shape.layers));
    for (int64_t layer = 0; layer < shape.layers; ++layer) {
      if (is_convolution_layer(layer)) continue;
      kv_heads[static_cast<size_t>(layer)] = static_cast<int32_t>(shape.kv_heads);
    }
    add("attention.head_count_kv", kv_heads);
    add("shortconv.l_cache", u32(kConvolution));
  } else {
    add("attention.head_count_kv", u32(shape.kv_heads));
  }
  add("attention.key_length", u32(shape.head_dim));
  add("attention.value_length", u32(shape.head_dim));

  if (spec.family == Family::kBert) {
    add("attention.layer_norm_epsilon", 1e-12F);
    add("attention.causal", false);
    add_pooling();
    return;
  }
  add("attention.layer_norm_rms_epsilon", 1e-6F);
  add("rope.freq_base", 1e6F);
  add("rope.dimension_count", u32(shape.head_dim));
  if (spec.family == Family::kMoe) {
    add("expert_count", u32(shape.experts));
    add("expert_used_count", u32(shape.experts_used));
    add("expert_feed_forward_length", u32(shape.ff));
    add("expert_weights_norm", true);
  }
  if (spec.family == Family::kSwa) {
    add("attention.sliding_window", u32(shape.window));
    add("attention.sliding_window_pattern", u32(kSwaPeriod));
  }
  add_pooling();
  if (spec.pooling == Pooling::kRank) {
    add("classifier.output_labels", std::vector<std::string>{"yes", "no"});
  }
}

void add_bpe_vocabulary(Vocabulary vocabulary, Pooling pooling, std::vector<MetaEntry>& entries) {
  const auto add = [&](std::string_view key, MetaValue value) {
    entries.push_back({fmt::format("tokenizer.ggml.{}", key), std::move(value)});
  };
  add("model", "gpt2");
  add("pre", "qwen2");
  add("bos_token_id", id_of(vocabulary, kEndOfText));
  add("padding_token_id", id_of(vocabulary, kEndOfText));
  add("eos_token_id", id_of(vocabulary, kImEnd));
  add("add_bos_token", false);
  add("add_eos_token", pooling == Pooling::kLast);
  add("tokens", std::move(vocabulary.tokens));
  add("token_type", std::move(vocabulary.kinds));
  add("merges", std::move(vocabulary.merges));
}

void add_word_piece_vocabulary(Vocabulary vocabulary, std::vector<MetaEntry>& entries) {
  const auto add = [&](std::string_view key, MetaValue value) {
    entries.push_back({fmt::format("tokenizer.ggml.{}", key), std::move(value)});
  };
  add("model", "bert");
  add("pre", "default");
  add("bos_token_id", id_of(vocabulary, "[CLS]"));
  add("cls_token_id", id_of(vocabulary, "[CLS]"));
  // GGUF spells it so.
  add("seperator_token_id", id_of(vocabulary, "[SEP]"));
  add("unknown_token_id", id_of(vocabulary, "[UNK]"));
  add("padding_token_id", id_of(vocabulary, "[PAD]"));
  add("mask_token_id", id_of(vocabulary, "[MASK]"));
  add("token_type_count", uint32_t{2});
  add("add_bos_token", true);
  add("add_sep_token", true);
  add("tokens", std::move(vocabulary.tokens));
  add("token_type", std::move(vocabulary.kinds));
}

}  // namespace

std::span<const std::string_view> family_names() {
  return kFamilyNames;
}
std::span<const std::string_view> type_names() {
  return kTypeNames;
}
std::span<const std::string_view> pooling_names() {
  return kPoolingNames;
}

Pooling default_pooling(Family family) {
  return family == Family::kBert ? Pooling::kMean : Pooling::kUnsaid;
}

std::string_view chatml() {
  return "{% for message in messages %}"
         "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
         "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
}

// Head dimension 32 throughout, so that the KV cache may be Q8_0 as well.
Shape default_shape(Family family) {
  Shape shape = {.layers = 2,
                 .embd = 64,
                 .heads = 4,
                 .kv_heads = 2,
                 .head_dim = 32,
                 .ff = 128,
                 .vocab = 512,
                 .ctx = 4096};
  switch (family) {
    case Family::kLlama:
    case Family::kQwen3:
      break;
    case Family::kMoe:
      shape.ff = 64;
      shape.experts = 8;
      shape.experts_used = 2;
      break;
    case Family::kHybrid:
      shape.layers = 4;
      shape.heads = 2;
      shape.kv_heads = 1;
      break;
    case Family::kSwa:
      shape.heads = 2;
      shape.kv_heads = 1;
      shape.window = 32;
      break;
    case Family::kBert:
      shape.heads = 2;
      shape.kv_heads = 2;
      shape.ctx = 512;  // as BERT models have it: their position table ends there
      break;
  }
  return shape;
}

Result<void> check(const ModelSpec& spec) {
  const Shape& shape = spec.shape;
  const Family family = spec.family;
  const int64_t vocab_min =
      family == Family::kBert ? smallest_word_piece_vocabulary() : smallest_bpe_vocabulary();
  constexpr int64_t kWidthMax = 1 << 20;
  for (const Result<void>& range :
       {check_range("layers", shape.layers, 1, 256), check_range("embd", shape.embd, 8, kWidthMax),
        check_range("heads", shape.heads, 1, 1024),
        check_range("kv-heads", shape.kv_heads, 1, shape.heads),
        check_range("head-dim", shape.head_dim, 2, 1024), check_range("ff", shape.ff, 8, kWidthMax),
        check_range("vocab", shape.vocab, vocab_min, 1 << 20),
        check_range("ctx", shape.ctx, 32, kWidthMax)}) {
    if (!range) return range.error();
  }
  if (shape.heads % shape.kv_heads != 0) {
    return Error{ErrorKind::kInvalid, fmt::format("--heads {} must be a multiple of --kv-heads {}",
                                                  shape.heads, shape.kv_heads)};
  }
  if (shape.head_dim % 2 != 0) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("--head-dim {} must be even: positions rotate pairs", shape.head_dim)};
  }
  const bool is_square =
      family == Family::kHybrid || family == Family::kSwa || family == Family::kBert;
  if (is_square && shape.heads * shape.head_dim != shape.embd) {
    return Error{
        ErrorKind::kInvalid,
        fmt::format("--family {} needs --heads x --head-dim = --embd, but {} x {} is not {}",
                    family_names()[static_cast<size_t>(family)], shape.heads, shape.head_dim,
                    shape.embd)};
  }
  if (family == Family::kHybrid && shape.layers < 2) {
    return Error{ErrorKind::kInvalid,
                 "--family hybrid needs --layers 2 or more: a convolution and an attention"};
  }
  if (family == Family::kSwa) {
    if (Result<void> range = check_range("window", shape.window, 1, shape.ctx); !range) {
      return range.error();
    }
  }
  if (spec.tied && family == Family::kBert) {
    return Error{ErrorKind::kInvalid, "--tied means nothing with --family bert: it has no head"};
  }
  if (spec.tied && family == Family::kSwa) {
    return Error{ErrorKind::kInvalid, "--tied cannot be had with --family swa: olmo2 has a head"};
  }
  if (spec.pooling == Pooling::kRank && family != Family::kBert && family != Family::kQwen3) {
    return Error{ErrorKind::kInvalid,
                 "--pooling rank is for --family bert and qwen3: libllama knows a classification "
                 "head of those"};
  }
  if (spec.type == WeightType::kQ8_0) {
    for (const Result<void>& multiple :
         {check_multiple("embd", shape.embd, kQuantBlock),
          check_multiple("ff", shape.ff, kQuantBlock),
          check_multiple("heads x --head-dim =", shape.heads * shape.head_dim, kQuantBlock)}) {
      if (!multiple) return multiple.error();
    }
  }
  return {};
}

std::vector<TensorSpec> list_tensors(const ModelSpec& spec) {
  return TensorLister(spec).list();
}

std::vector<MetaEntry> list_metadata(const ModelSpec& spec) {
  constexpr std::array<uint32_t, 3> kFileTypes = {0, 1, 7};  // as GGUF numbers them
  const std::string architecture(architecture_of(spec.family));
  std::vector<MetaEntry> entries = {
      {"general.architecture", architecture},
      {"general.name", fmt::format("random {}, seed {}", architecture, spec.seed)},
      {"general.file_type", kFileTypes[static_cast<size_t>(spec.type)]},
      {"general.quantization_version", uint32_t{2}},
  };
  add_hyperparameters(spec, entries);
  if (spec.family == Family::kBert) {
    add_word_piece_vocabulary(make_word_piece_vocabulary(spec.shape.vocab), entries);
  } else {
    add_bpe_vocabulary(make_bpe_vocabulary(spec.shape.vocab), spec.pooling, entries);
  }
  if (spec.chat_template) {
    entries.push_back({"tokenizer.chat_template", *spec.chat_template});
  }
  if (spec.pooling == Pooling::kRank && spec.family != Family::kBert) {
    entries.push_back({"tokenizer.chat_template.rerank",
                       "<|im_start|>query: {query}\ndocument: {document}<|im_end|>\n"});
  }
  return entries;
}

}  // namespace windrow::make_model
