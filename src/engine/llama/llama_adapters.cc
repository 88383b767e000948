#include "engine/llama/llama_adapters.h"

#include <fmt/format.h>
#include <llama.h>

#include <filesystem>
#include <optional>

#include "engine/llama/abort_guard.h"

namespace windrow::engine {

Result<LlamaAdapters> LlamaAdapters::load(LlamaLibrary& library, llama_model& model,
                                          std::span<const AdapterChoice> choices) {
  LlamaAdapters adapters;
  for (const AdapterChoice& choice : choices) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(choice.path, error)) {
      return Error{ErrorKind::kNotFound,
                   fmt::format("{}: there is no such adapter file", choice.path)};
    }
    llama_adapter_lora* adapter = nullptr;
    std::optional<std::string> aborted;
    const std::string reason = library.reason_of_failure([&] {
      aborted = guard_against_abort(
          choice.path, [&] { adapter = llama_adapter_lora_init(&model, choice.path.c_str()); });
    });
    if (aborted) return abort_error("load this adapter", *aborted).in(choice.path);
    if (adapter == nullptr) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: libllama cannot use it as a LoRA adapter of this model: {}; it "
                               "must be a GGUF adapter made from the same base model",
                               choice.path, reason)};
    }
    if (llama_adapter_get_alora_n_invocation_tokens(adapter) > 0) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("{}: the adapter is one that is switched on by tokens of the prompt "
                               "(aLoRA), which is not supported; use a plain LoRA adapter",
                               choice.path)};
    }
    adapters.adapters_.push_back(adapter);
    adapters.scales_.push_back(choice.scale);
  }
  return adapters;
}

Result<void> LlamaAdapters::apply_to(llama_context& context) const {
  if (adapters_.empty()) return {};
  // libllama takes both lists without promising not to change them.
  std::vector<llama_adapter_lora*> adapters = adapters_;
  std::vector<float> scales = scales_;
  if (llama_set_adapters_lora(&context, adapters.data(), adapters.size(), scales.data()) == 0) {
    return {};
  }
  return Error{ErrorKind::kUnavailable,
               "libllama does not apply the LoRA adapters to this model; leave out --lora"};
}

}  // namespace windrow::engine
