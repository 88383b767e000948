#include "session/samples/samples_body.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/ensure.h"
#include "base/utf8.h"
#include "json/writer.h"

namespace windrow::session {
namespace {

static_assert(std::endian::native == std::endian::little);

// In the order in which tensors are written: types from wide to narrow; _samples_meta is before
// loss_mask.0 by its name.
enum class Content : uint8_t { kTokens, kLogprobs, kRows, kMeta, kMask };

std::string_view dtype_of(Content content) {
  switch (content) {
    case Content::kTokens:
      return "I64";
    case Content::kLogprobs:
      return "F64";
    case Content::kRows:
      return "I32";
    case Content::kMeta:
    case Content::kMask:
      return "U8";
  }
  return "";
}

std::string_view rows_name(RowKind kind) {
  return kind == RowKind::kRoutedExperts ? "rollout_routed_experts" : "rollout_indexer_topk";
}

struct Tensor {
  Content content = Content::kMeta;
  RowKind kind = RowKind::kRoutedExperts;  // kRows
  size_t sample = 0;
  std::string name;
  std::vector<size_t> shape;
  size_t item_bytes = 1;  // of one along the first dimension

  size_t items() const { return shape.front(); }
  uint64_t bytes() const { return uint64_t{items()} * item_bytes; }
};

// Servers tell the layers of indexer_topk alone.
std::vector<size_t> rows_shape(const Sample& sample, RowKind kind, size_t layers) {
  const size_t each = sample.path.values_per_row(kind);
  const int64_t told = sample.path.last().figures.indexer_layers;
  if (kind == RowKind::kIndexerTopk && told > 0) layers = static_cast<size_t>(told);
  if (layers == 0 || each % layers != 0) layers = 1;
  return {sample.rows(), layers, each / layers};
}

void add_tensors(const Sample& sample, size_t index, const RowShape (&shapes)[kRowKinds],
                 std::vector<Tensor>& tensors) {
  const auto add = [&](Content content, std::string_view name, std::vector<size_t> shape,
                       size_t item_bytes, RowKind kind = RowKind::kRoutedExperts) {
    tensors.push_back({.content = content,
                       .kind = kind,
                       .sample = index,
                       .name = fmt::format("{}.{}", name, index),
                       .shape = std::move(shape),
                       .item_bytes = item_bytes});
  };
  add(Content::kTokens, "tokens", {sample.tokens}, sizeof(int64_t));
  add(Content::kLogprobs, "rollout_log_probs", {sample.response_length()}, sizeof(double));
  add(Content::kMask, "loss_mask", {sample.response_length()}, 1);
  for (const RowKind kind : kEveryRowKind) {
    const auto of_kind = static_cast<size_t>(kind);
    if (!sample.has_rows[of_kind]) continue;
    add(Content::kRows, rows_name(kind), rows_shape(sample, kind, shapes[of_kind].layers),
        sample.path.values_per_row(kind) * sizeof(int32_t), kind);
  }
}

void append_meta(const Sample& sample, bool with_reward, std::string& text) {
  text += R"({"response":)";
  append_json(utf8_repair(sample.response), text);
  append_format(text, R"(,"response_length":{},"status":)", sample.response_length());
  append_json(to_string(sample.status), text);
  text += R"(,"weight_versions":)";
  append_json_array(text, sample.weight_versions,
                    [&](const std::string& version) { append_json(version, text); });
  append_format(text,
                R"(,"prefix_cache_info":{{"cached_tokens":{},"total_prompt_tokens":{}}},)"
                R"("metadata":)",
                sample.cached_tokens, sample.prompt_tokens);
  append_compact_json(sample.metadata, text);
  if (with_reward) {
    const boost::json::value* const reward = sample.metadata.if_contains("reward");
    text += R"(,"reward":)";
    append_compact_json(reward != nullptr ? *reward : boost::json::value(), text);
  }
  std::vector<std::string_view> nulls;
  for (const RowKind kind : kEveryRowKind)
    if (!sample.has_rows[static_cast<size_t>(kind)]) nulls.push_back(rows_name(kind));
  text += R"(,"nulls":)";
  append_json_array(text, nulls, [&](std::string_view name) { append_json(name, text); });
  text += '}';
}

std::string meta_of(const Samples& samples, const SamplesBodyOptions& options) {
  std::string text = R"({"samples":)";
  append_json_array(text, samples.samples,
                    [&](const Sample& sample) { append_meta(sample, options.with_reward, text); });
  text += R"(,"session_metadata":)";
  append_compact_json(options.session_metadata, text);
  text += R"(,"empty_reason":)";
  if (!samples.empty) text += "null";
  if (samples.empty == EmptyReason::kNoRecords) text += R"("no_records")";
  if (samples.empty == EmptyReason::kAllTruncated) text += R"("all_truncated")";
  return text + "}";
}

// The length of the header, and the header.
std::string head_of(const std::vector<Tensor>& tensors) {
  std::string text(sizeof(uint64_t), '\0');
  text += '{';
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    if (&tensor != &tensors.front()) text += ',';
    append_json(tensor.name, text);
    append_format(text, R"(:{{"dtype":"{}","shape":)", dtype_of(tensor.content));
    append_json_array(text, tensor.shape, [&](size_t size) { append_format(text, "{}", size); });
    append_format(text, R"(,"data_offsets":[{},{}]}})", offset, offset + tensor.bytes());
    offset += tensor.bytes();
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size() - sizeof(uint64_t);
  std::memcpy(text.data(), &length, sizeof(length));
  return text;
}

// Appends numbers as T in the order of bytes of this machine, which is that of the format.
template <class T, class From>
void append_as(const std::vector<From>& values, std::string& bytes) {
  const size_t start = bytes.size();
  bytes.resize(start + values.size() * sizeof(T));
  char* to = bytes.data() + start;
  for (const From value : values) {
    const T number = value;
    std::memcpy(to, &number, sizeof(T));
    to += sizeof(T);
  }
}

class SamplesBody final : public BodySource {
 public:
  SamplesBody(Samples samples, const SamplesBodyOptions& options);

  std::optional<uint64_t> size() const override { return size_; }
  bool next(size_t bytes_wanted, std::string& bytes) override;

 private:
  void append(const Tensor& tensor, size_t first, size_t count, std::string& bytes);

  const Samples samples_;
  const std::string meta_;
  std::vector<Tensor> tensors_;
  std::string head_;
  uint64_t size_ = 0;

  size_t head_sent_ = 0;  // bytes
  size_t tensor_ = 0;     // the one that is being sent
  size_t item_ = 0;       // the next one of it
  std::vector<int32_t> numbers_;
  std::vector<double> logprobs_;
};

SamplesBody::SamplesBody(Samples samples, const SamplesBodyOptions& options)
    : samples_(std::move(samples)), meta_(meta_of(samples_, options)) {
  tensors_.push_back({.content = Content::kMeta, .name = "_samples_meta", .shape = {meta_.size()}});
  for (size_t i = 0; i < samples_.samples.size(); ++i)
    add_tensors(samples_.samples[i], i, options.shapes, tensors_);
  std::ranges::sort(tensors_, {}, [](const Tensor& tensor) {
    return std::pair<Content, std::string_view>(tensor.content, tensor.name);
  });
  head_ = head_of(tensors_);
  size_ = head_.size();
  for (const Tensor& tensor : tensors_)
    size_ += tensor.bytes();
}

void SamplesBody::append(const Tensor& tensor, size_t first, size_t count, std::string& bytes) {
  if (tensor.content == Content::kMeta) {
    bytes.append(meta_, first, count);
    return;
  }
  const Sample& sample = samples_.samples[tensor.sample];
  numbers_.clear();
  logprobs_.clear();
  switch (tensor.content) {
    case Content::kTokens:
      sample.path.append_tokens(first, count, numbers_);
      return append_as<int64_t>(numbers_, bytes);
    case Content::kLogprobs:
      sample.append_logprobs(first, count, logprobs_);
      return append_as<double>(logprobs_, bytes);
    case Content::kRows:
      numbers_.resize(count * (tensor.item_bytes / sizeof(int32_t)));
      sample.path.read_rows(tensor.kind, first, count, numbers_);
      return append_as<int32_t>(numbers_, bytes);
    case Content::kMask:
      return sample.append_mask(first, count, bytes);
    case Content::kMeta:
      return;
  }
}

bool SamplesBody::next(size_t bytes_wanted, std::string& bytes) {
  const size_t before = bytes.size();
  const size_t end = before + std::max<size_t>(bytes_wanted, 1);
  const size_t of_head = std::min(head_.size() - head_sent_, end - before);
  bytes.append(head_, head_sent_, of_head);
  head_sent_ += of_head;
  while (bytes.size() < end && tensor_ < tensors_.size()) {
    const Tensor& tensor = tensors_[tensor_];
    const size_t left = tensor.items() - item_;
    if (left == 0 || tensor.item_bytes == 0) {
      ++tensor_;
      item_ = 0;
      continue;
    }
    const size_t count = std::clamp<size_t>((end - bytes.size()) / tensor.item_bytes, 1, left);
    const size_t start = bytes.size();
    append(tensor, item_, count, bytes);
    ENSURE(bytes.size() - start == count * tensor.item_bytes, "{} bytes instead of {} of {}",
           bytes.size() - start, count * tensor.item_bytes, tensor.name);
    item_ += count;
  }
  return bytes.size() > before;
}

}  // namespace

std::unique_ptr<BodySource> make_samples_body(Samples samples, SamplesBodyOptions options) {
  return std::make_unique<SamplesBody>(std::move(samples), options);
}

}  // namespace windrow::session
