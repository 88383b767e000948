// LlamaAdapters: low-rank adapters (LoRA, Hu et al., 2021) on a model's weights: the changes of a
// fine-tuning in a file of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/llama/llama_library.h"

struct llama_adapter_lora;
struct llama_context;
struct llama_model;

namespace windrow::engine {

struct AdapterChoice {
  std::string path;    // a GGUF file of type adapter, made for this model
  float scale = 1.0F;  // 0: no effect; 1: as trained

  friend bool operator==(const AdapterChoice&, const AdapterChoice&) = default;
};

// Const and thread-safe once loaded.
class LlamaAdapters {
 public:
  // kNotFound: a file cannot be read. kInvalid: one is no adapter or does not fit the model, with
  // libllama's reason. The model owns the loaded adapters and must outlive this.
  static Result<LlamaAdapters> load(LlamaLibrary& library, llama_model& model,
                                    std::span<const AdapterChoice> choices);

  LlamaAdapters() = default;

  // Every further pass of `context` runs with them. kUnavailable: libllama refuses.
  Result<void> apply_to(llama_context& context) const;

 private:
  std::vector<llama_adapter_lora*> adapters_;
  std::vector<float> scales_;
};

}  // namespace windrow::engine
