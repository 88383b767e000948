#include "make_model/writer.h"

#include <fmt/format.h>
#include <ggml.h>
#include <gguf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/random.h"

namespace windrow::make_model {

namespace {

constexpr int64_t kPieceValues = 1 << 16;

struct GgufFree {
  void operator()(gguf_context* context) const { gguf_free(context); }
};
struct GgmlFree {
  void operator()(ggml_context* context) const { ggml_free(context); }
};
struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Gguf = std::unique_ptr<gguf_context, GgufFree>;
using Ggml = std::unique_ptr<ggml_context, GgmlFree>;
using File = std::unique_ptr<std::FILE, FileClose>;

// A stream of its own for every tensor, so that one more tensor does not change the others.
uint64_t seed_of(uint64_t seed, const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return Random(seed).next() ^ hash;
}

// Draws the values of one tensor. Only integer sums and one rounded multiplication each: logarithms
// and sines, which a textbook normal deviate takes, differ in the last bit between C libraries and
// processors, and sums of floats between compilers that fuse them and those that do not.
class Values {
 public:
  Values(const TensorSpec& tensor, uint64_t seed)
      : random_(seed_of(seed, tensor.name)), fill_(tensor.fill) {
    // Eight uniform numbers of 16 bits have the variance 8 (2^32 - 1) / 12.
    const double unit = fill_ == Fill::kNormal ? std::sqrt(8.0 * 4294967295.0 / 12.0) : 0x1.0p16;
    scale_ = static_cast<float>(tensor.scale / unit);
  }

  float next() {
    return static_cast<float>(fill_ == Fill::kNormal ? next_normal() : next_gain()) * scale_;
  }

 private:
  // Close enough to normal: bell-shaped, and nothing beyond 4.9 deviations.
  int32_t next_normal() {
    constexpr int32_t kMean = 4 * 65535;
    return sum_of_quarters(random_.next()) + sum_of_quarters(random_.next()) - kMean;
  }

  int32_t next_gain() { return 0xC000 + static_cast<int32_t>(random_.next() >> 49); }

  static int32_t sum_of_quarters(uint64_t bits) {
    return static_cast<int32_t>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) +
                                (bits >> 48));
  }

  Random random_;
  Fill fill_;
  float scale_ = 0;
};

ggml_type type_of(const ModelSpec& spec, const TensorSpec& tensor) {
  constexpr std::array kTypes = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0};
  if (tensor.shape.size() == 1 || tensor.always_f32) return GGML_TYPE_F32;
  return kTypes[static_cast<size_t>(spec.type)];
}

void set_metadata(gguf_context* gguf, const MetaEntry& entry) {
  const char* key = entry.key.c_str();
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, uint32_t>) {
          gguf_set_val_u32(gguf, key, value);
        } else if constexpr (std::is_same_v<T, float>) {
          gguf_set_val_f32(gguf, key, value);
        } else if constexpr (std::is_same_v<T, bool>) {
          gguf_set_val_bool(gguf, key, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          gguf_set_val_str(gguf, key, value.c_str());
        } else if constexpr (std::is_same_v<T, std::vector<int32_t>>) {
          gguf_set_arr_data(gguf, key, GGUF_TYPE_INT32, value.data(), value.size());
        } else {
          std::vector<const char*> texts;
          texts.reserve(value.size());
          for (const std::string& text : value)
            texts.push_back(text.c_str());
          gguf_set_arr_str(gguf, key, texts.data(), texts.size());
        }
      },
      entry.value);
}

Error io_error(const std::filesystem::path& path) {
  return {ErrorKind::kIo,
          fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno))};
}

class Writer {
 public:
  Writer(const ModelSpec& spec, std::filesystem::path path)
      : spec_(spec), path_(std::move(path)), tensors_(list_tensors(spec)) {}

  Result<void> write() {
    write_header_into_memory();
    file_.reset(std::fopen(path_.c_str(), "wb"));
    if (!file_) return io_error(path_);
    if (!put(header_.data(), header_.size())) return io_error(path_);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!put_tensor(tensors_[i], offsets_[i])) return io_error(path_);
    }
    if (!put_padding()) return io_error(path_);
    if (std::fclose(file_.release()) != 0) return io_error(path_);
    return {};
  }

 private:
  void write_header_into_memory() {
    const Gguf gguf(gguf_init_empty());
    for (const MetaEntry& entry : list_metadata(spec_))
      set_metadata(gguf.get(), entry);

    const Ggml ggml(ggml_init({.mem_size = tensors_.size() * ggml_tensor_overhead(),
                               .mem_buffer = nullptr,
                               .no_alloc = true}));
    for (const TensorSpec& tensor : tensors_) {
      ggml_tensor* described =
          ggml_new_tensor(ggml.get(), type_of(spec_, tensor), static_cast<int>(tensor.shape.size()),
                          tensor.shape.data());
      ggml_set_name(described, tensor.name.c_str());
      gguf_add_tensor(gguf.get(), described);
    }

    header_.resize(gguf_get_meta_size(gguf.get()));
    gguf_get_meta_data(gguf.get(), header_.data());
    alignment_ = gguf_get_alignment(gguf.get());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      offsets_.push_back(header_.size() +
                         gguf_get_tensor_offset(gguf.get(), static_cast<int64_t>(i)));
    }
  }

  bool put_tensor(const TensorSpec& tensor, size_t offset) {
    if (!put_padding_to(offset)) return false;
    const ggml_type type = type_of(spec_, tensor);
    const int64_t width = tensor.shape.front();
    int64_t rows_left = 1;
    for (size_t i = 1; i < tensor.shape.size(); ++i)
      rows_left *= tensor.shape[i];

    Values values(tensor, spec_.seed);
    const int64_t piece_rows = std::max<int64_t>(1, kPieceValues / width);
    while (rows_left > 0) {
      const int64_t rows = std::min(rows_left, piece_rows);
      drawn_.resize(static_cast<size_t>(rows * width));
      for (float& value : drawn_)
        value = values.next();
      converted_.resize(ggml_row_size(type, width) * static_cast<size_t>(rows));
      ggml_quantize_chunk(type, drawn_.data(), converted_.data(), 0, rows, width, nullptr);
      if (!put(converted_.data(), converted_.size())) return false;
      rows_left -= rows;
    }
    return true;
  }

  bool put(const void* data, size_t size) {
    written_ += size;
    return std::fwrite(data, 1, size, file_.get()) == size;
  }

  bool put_padding_to(size_t offset) {
    while (written_ < offset) {
      if (!put("", 1)) return false;
    }
    return true;
  }

  // Readers expect the last tensor padded like the others.
  bool put_padding() {
    return put_padding_to((written_ + alignment_ - 1) / alignment_ * alignment_);
  }

  const ModelSpec& spec_;
  const std::filesystem::path path_;
  const std::vector<TensorSpec> tensors_;
  std::vector<char> header_;
  std::vector<size_t> offsets_;  // of each tensor, from the start of the file
  size_t alignment_ = 0;
  File file_;
  size_t written_ = 0;
  std::vector<float> drawn_;
  std::vector<char> converted_;
};

}  // namespace

Result<void> write_model(const ModelSpec& spec, const std::filesystem::path& path) {
  if (Result<void> checked = check(spec); !checked) return checked;
  std::filesystem::path part = path;
  part += ".part";
  std::error_code failure;
  Result<void> written = Writer(spec, part).write();
  if (!written) {
    std::filesystem::remove(part, failure);
    return written;
  }
  std::filesystem::rename(part, path, failure);
  if (failure) {
    return Error{ErrorKind::kIo,
                 fmt::format("{} cannot be written: {}", path.string(), failure.message())};
  }
  return {};
}

}  // namespace windrow::make_model
