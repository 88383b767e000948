// Texts for an embedding model, of which one that is too long for it is embedded by its beginning.
// Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"

namespace windrow::memory {

class FittingTexts {
 public:
  explicit FittingTexts(std::vector<std::string> texts);

  // What the model is to be asked for.
  std::vector<std::string> texts() const;

  // The model failed. True: a text was too long, and texts() are shorter now, so it is to be asked
  // again; false: the failure is final.
  bool shorten(const llm::Failure& failure);

 private:
  const std::vector<std::string> texts_;
  size_t bytes_max_ = 0;
  int32_t attempts_ = 1;
};

// The first `bytes_max` bytes of a text, without a part of a character at the end.
std::string beginning_of(std::string_view text, size_t bytes_max);

}  // namespace windrow::memory
