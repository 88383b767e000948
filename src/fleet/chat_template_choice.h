// The chat template of a model: its own, or the one that --chat-template names.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "chat/chat_template.h"
#include "engine/llama/llama_model.h"
#include "fleet/model_choice.h"

namespace windrow::fleet {

// The template of the model's file. Errors: kUnavailable when it has none, or one that cannot be
// parsed.
Result<chat::ChatTemplate> own_chat_template(const engine::ModelFacts& facts);

// The template that ModelChoice::chat_template names: empty for the model's own; `chatml`; a
// further template in the model's file ("tool_use"); or a file. Errors: as own_chat_template;
// kInvalid or kNotFound for a choice that is no template.
Result<chat::ChatTemplate> chosen_chat_template(const engine::LlamaModel& model,
                                                const ModelChoice& choice);

// The same for a model whose weights are not loaded.
Result<chat::ChatTemplate> chosen_chat_template(const engine::LoadedVocabulary& model,
                                                const ModelChoice& choice);

// The same for a simulated model, which has ChatML of its own.
Result<chat::ChatTemplate> simulated_chat_template(const ModelChoice& choice);

// The text of a file, a pipe or a device, without a byte order mark. Errors: kNotFound when there
// is none or it is a folder, kIo.
Result<std::string> read_template_file(const std::string& path);

// Sets chat_template_text of the choices whose template comes from a pipe. A pipe can be read once,
// and a job is resumed only with the text it began with. Errors as read_template_file.
Result<void> read_piped_templates(std::vector<ModelChoice>& choices);

}  // namespace windrow::fleet
