#include "llm/tokenizer.h"

#include "base/utf8.h"

namespace windrow::llm {

std::string text_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  std::string bytes;
  for (const int32_t token : tokens)
    tokenizer.append_piece(token, bytes);
  return utf8_repair(bytes);
}

Result<std::shared_ptr<const Tokenizer>> LazyTokenizer::get() {
  const std::scoped_lock lock(mutex_);
  if (loaded_) return loaded_;
  Result<std::shared_ptr<const Tokenizer>> loaded = load_();
  if (loaded) loaded_ = *loaded;
  return loaded;
}

}  // namespace windrow::llm
