// The tokenizer of a model, made from its file alone: for models that are not loaded, and for those
// that other servers have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "engine/llama/llama_library.h"
#include "fleet/load_model.h"
#include "fleet/model_choice.h"
#include "llm/tokenizer.h"

namespace windrow::fleet {

// The vocabulary and chat template that load_model would use, without weights. `date_unix_s`: what
// the template takes for today. `library` (null for a simulated model) outlives the tokenizer.
// Blocks while the vocabulary is read. Errors as LlamaModel::load_vocabulary, chosen_chat_template
// for a chosen template, and engine::sim::parse_sim.
Result<std::shared_ptr<const llm::Tokenizer>> load_tokenizer(engine::LlamaLibrary* library,
                                                             const ModelChoice& choice,
                                                             int64_t date_unix_s);

// That of a loaded model, whose vocabulary it uses: it must not outlive the model. Errors as above.
Result<std::shared_ptr<const llm::Tokenizer>> loaded_tokenizer(const LocalModel& model,
                                                               const ModelChoice& choice,
                                                               int64_t date_unix_s);

// load_tokenizer when it is first asked for, with the date of that day, as a server loads models.
// All arguments outlive it.
std::shared_ptr<llm::LazyTokenizer> lazy_tokenizer(engine::LlamaLibrary* library,
                                                   const ModelChoice& choice, const Clock& clock);

}  // namespace windrow::fleet
