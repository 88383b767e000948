// MemoryInput: an input made of bytes in memory, given out in pieces of a chosen size.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "batch/input.h"

namespace windrow::batch::testing {

struct MemoryInputOptions {
  size_t piece_bytes = 65536;  // given out by one read
  bool rereadable = true;
  std::optional<size_t> fails_at = {};  // reading this byte fails with kIo
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string bytes, MemoryInputOptions options)
      : bytes_(std::move(bytes)), options_(options) {}

  Result<size_t> read(char* buffer, size_t size) override {
    if (interrupted_) return size_t{0};
    if (options_.fails_at && at_ >= *options_.fails_at) {
      return Error{ErrorKind::kIo, "cannot read: injected fault"};
    }
    size_t count = std::min({size, options_.piece_bytes, bytes_.size() - at_});
    if (options_.fails_at) count = std::min(count, *options_.fails_at - at_);
    std::memcpy(buffer, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

  void interrupt() override { interrupted_ = true; }

 private:
  const std::string bytes_;
  const MemoryInputOptions options_;
  size_t at_ = 0;
  std::atomic<bool> interrupted_ = false;
};

class MemoryInput final : public Input {
 public:
  explicit MemoryInput(std::string bytes, MemoryInputOptions options = {})
      : bytes_(std::move(bytes)), options_(options) {}

  Result<std::unique_ptr<ByteSource>> open(BeforeWait) override {
    const std::scoped_lock lock(mutex_);
    if (!options_.rereadable && std::exchange(opened_, true)) {
      return Error{ErrorKind::kConflict, name_ + " can be read only once"};
    }
    return std::make_unique<MemorySource>(bytes_, options_);
  }

  bool rereadable() const override { return options_.rereadable; }

  std::optional<uint64_t> size() const override {
    if (!options_.rereadable) return std::nullopt;
    return bytes_.size();
  }

  const std::string& name() const override { return name_; }

 private:
  const std::string bytes_;
  const MemoryInputOptions options_;
  const std::string name_ = "requests.jsonl";
  std::mutex mutex_;
  bool opened_ = false;
};

}  // namespace windrow::batch::testing
