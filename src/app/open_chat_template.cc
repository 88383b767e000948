#include "app/open_chat_template.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace windrow::app {
namespace {

chat::SpecialTokens special_tokens(const engine::ModelFacts& facts) {
  return {.begin = facts.begin_text, .end = facts.end_text};
}

Result<std::string> read_template_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("--chat-template {}: there is no such file, the model carries no "
                             "template of that name, and the only one built in is chatml",
                             path)};
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && !file.eof()) {
    return Error{ErrorKind::kIo, fmt::format("--chat-template {}: it cannot be read", path)};
  }
  return text;
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
                                              const std::string& choice) {
  if (choice.empty()) return own_chat_template(model.facts());
  if (choice == "chatml") return chat::ChatTemplate::make(choice, special_tokens(model.facts()));
  std::optional<std::string> text = model.named_chat_template(choice);
  if (!text) {
    Result<std::string> read = read_template_file(choice);
    if (!read) return read.error();
    text = *std::move(read);
  }
  Result<chat::ChatTemplate> made = chat::ChatTemplate::make(*text, special_tokens(model.facts()));
  if (made) return made;
  return Error{ErrorKind::kInvalid,
               fmt::format("--chat-template {}: {}", choice, made.error().message)};
}

}  // namespace windrow::app
