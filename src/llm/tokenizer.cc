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
  if (refusal_) return Error{ErrorKind::kInvalid, *refusal_};
  if (loaded_) return loaded_;
  Result<std::shared_ptr<const Tokenizer>> loaded = load_();
  if (loaded) loaded_ = *loaded;
  return loaded;
}

void LazyTokenizer::refuse(std::string why) {
  const std::scoped_lock lock(mutex_);
  refusal_ = std::move(why);
}

std::optional<std::string> LazyTokenizer::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

}  // namespace windrow::llm
