// The chat template of a model: its own, or the one that --chat-template names.
#pragma once

#include "app/model_choice.h"
#include "base/result.h"
#include "chat/chat_template.h"
#include "engine/llama/llama_model.h"

namespace windrow::app {

// `choice.chat_template`: empty for the model's own; `chatml`; the name of a further template in
// the model's file ("tool_use"); or a file. kUnavailable when the model has none of its own or one
// that cannot be parsed, kInvalid or kNotFound for a choice that is no template.
Result<chat::ChatTemplate> open_chat_template(const engine::LlamaModel& model,
                                              const ModelChoice& choice);

// The model's own, for those who only ask what it is.
Result<chat::ChatTemplate> own_chat_template(const engine::ModelFacts& facts);

}  // namespace windrow::app
