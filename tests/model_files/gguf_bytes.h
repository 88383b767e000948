// GgufBytes: a GGUF file in memory whose header values a test replaces by others.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ensure.h"

namespace windrow::model_files {

class GgufBytes {
 public:
  // Types of the GGUF format, of values that are one number of four bytes or one byte.
  enum class Type : uint32_t { kUint32 = 4, kInt32 = 5, kFloat32 = 6, kBool = 7 };

  struct Number {
    std::string key;
    Type type = Type::kUint32;
    size_t at = 0;  // of its value in the file
  };

  explicit GgufBytes(const std::string& path) {
    bytes_.resize(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    ENSURE(bytes_.starts_with("GGUF"), "{} is not a GGUF file", path);
    find_numbers();
  }

  // In the order of the file.
  const std::vector<Number>& numbers() const { return numbers_; }

  // `key` without the architecture in front of it.
  void set(std::string_view key, uint32_t value) { replace(key, &value); }
  void set(std::string_view key, float value) { replace(key, &value); }
  void set(const Number& number, uint32_t value) {
    std::memcpy(bytes_.data() + number.at, &value, number.type == Type::kBool ? 1 : sizeof value);
  }

  // The same model under the name of another architecture, which has a graph of its own.
  void rename_architecture(std::string_view from, std::string_view to) {
    size_t at = kFirstKey;
    std::string head = bytes_.substr(0, at);
    for (uint64_t i = 0; i < keys_count(); ++i) {
      std::string key = take_text(at);
      const size_t value_at = at;
      skip(take<uint32_t>(at), at);
      if (key.starts_with(std::string(from) + ".")) key.replace(0, from.size(), to);
      append_text(head, key);
      if (key == "general.architecture") {
        head.append(bytes_, value_at, sizeof(uint32_t));
        append_text(head, to);
      } else {
        head.append(bytes_, value_at, at - value_at);
      }
    }
    const size_t tensors_at = at;
    skip_tensors(at);
    head.append(bytes_, tensors_at, at - tensors_at);
    head.append(aligned(head.size()) - head.size(), '\0');
    bytes_ = head + bytes_.substr(aligned(at));
    numbers_.clear();
    find_numbers();
  }

  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes_; }

 private:
  // Behind the magic, the version, and the counts of tensors and keys.
  static constexpr size_t kFirstKey = 4 + 4 + 8 + 8;
  static constexpr size_t kAlignment = 32;
  static constexpr uint32_t kText = 8;
  static constexpr uint32_t kList = 9;

  template <class T>
  T take(size_t& at) const {
    T value{};
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }

  std::string take_text(size_t& at) const {
    const auto length = take<uint64_t>(at);
    at += length;
    return bytes_.substr(at - length, length);
  }

  void skip(uint32_t type, size_t& at) const {
    if (type == kText) {
      take_text(at);
    } else if (type == kList) {
      const auto of = take<uint32_t>(at);
      const auto count = take<uint64_t>(at);
      for (uint64_t i = 0; i < count; ++i)
        skip(of, at);
    } else {
      constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
      at += kSizes[type];
    }
  }

  static size_t aligned(size_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

  static void append_text(std::string& bytes, std::string_view text) {
    const uint64_t length = text.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes.append(text);
  }

  uint64_t tensors_count() const {
    size_t at = kFirstKey - 16;
    return take<uint64_t>(at);
  }
  uint64_t keys_count() const {
    size_t at = kFirstKey - 8;
    return take<uint64_t>(at);
  }

  // Name, dimensions, type and offset of each.
  void skip_tensors(size_t& at) const {
    for (uint64_t i = 0; i < tensors_count(); ++i) {
      take_text(at);
      const auto dimensions = take<uint32_t>(at);
      at += dimensions * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t);
    }
  }

  void find_numbers() {
    size_t at = kFirstKey;
    for (uint64_t i = 0; i < keys_count(); ++i) {
      std::string key = take_text(at);
      const auto type = take<uint32_t>(at);
      if (type >= 4 && type <= 7)
        numbers_.push_back({.key = std::move(key), .type = static_cast<Type>(type), .at = at});
      skip(type, at);
    }
  }

  void replace(std::string_view key, const void* value) {
    for (const Number& number : numbers_) {
      if (!number.key.ends_with("." + std::string(key))) continue;
      std::memcpy(bytes_.data() + number.at, value, sizeof(uint32_t));
      return;
    }
    ENSURE(false, "the file has no {}", key);
  }

  std::string bytes_;
  std::vector<Number> numbers_;
};

}  // namespace windrow::model_files
