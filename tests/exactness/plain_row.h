// A row run alone through plain libllama calls: one context, one sequence, the whole prompt in one
// decode, then token by token. Nothing of the engine is in it.
#pragma once

#include <llama.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace windrow::exactness {

struct PlainOptions {
  bool exact = true;  // F32 cache, no flash attention; otherwise libllama's defaults
};

struct PlainRow {
  std::vector<llama_token> tokens;         // greedy
  std::vector<double> logprobs;            // of each
  std::vector<std::vector<float>> logits;  // before each
};

class PlainModel {
 public:
  explicit PlainModel(const std::string& path);
  ~PlainModel();
  PlainModel(const PlainModel&) = delete;
  PlainModel& operator=(const PlainModel&) = delete;

  const llama_vocab* vocabulary() const { return llama_model_get_vocab(model_); }
  llama_model* get() const { return model_; }

  // Runs `prompt` alone for `output_tokens` greedy tokens, whatever they are. With `forced`, those
  // tokens follow instead of the greedy ones (which are still reported).
  PlainRow run(const std::vector<llama_token>& prompt, int output_tokens,
               const PlainOptions& options, const std::vector<llama_token>* forced = nullptr) const;

 private:
  llama_model* model_;
};

double logprob_of(const std::vector<float>& logits, llama_token token);

std::string test_model(const std::string& family, const std::string& type);

}  // namespace windrow::exactness
