#include "app/open_chat_template.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "app/template_file.h"

namespace windrow::app {
namespace {

chat::SpecialTokens special_tokens(const engine::ModelFacts& facts) {
  return {.begin = facts.begin_text, .end = facts.end_text};
}

}  // namespace

Result<chat::ChatTemplate> own_chat_template(const engine::ModelFacts& facts) {
  if (facts.chat_template.empty()) {
    return Error{ErrorKind::kUnavailable,
                 "the model has no chat template, so it cannot answer /v1/chat/completions; name "
                 "one with --chat-template, or send its prompts as text to /v1/completions"};
  }
  Result<chat::ChatTemplate> made =
      chat::ChatTemplate::make(facts.chat_template, special_tokens(facts));
  if (made) return made;
  return Error{ErrorKind::kUnavailable,
               fmt::format("the model's chat template cannot be used: {}; name another one with "
                           "--chat-template",
                           made.error().message)};
}

Result<chat::ChatTemplate> open_chat_template(const engine::LlamaModel& model,
                                              const ModelChoice& choice) {
  const std::string& name = choice.chat_template;
  if (name.empty()) return own_chat_template(model.facts());
  if (name == "chatml") return chat::ChatTemplate::make(name, special_tokens(model.facts()));
  std::optional<std::string> text = choice.chat_template_text;
  if (!text) text = model.named_chat_template(name);
  if (!text) {
    Result<std::string> read = read_template_file(name);
    if (!read) return read.error();
    text = *std::move(read);
  }
  Result<chat::ChatTemplate> made = chat::ChatTemplate::make(*text, special_tokens(model.facts()));
  if (made) return made;
  return Error{ErrorKind::kInvalid,
               fmt::format("--chat-template {}: {}", name, made.error().message)};
}

}  // namespace windrow::app
