#include "fleet/chat_template_choice.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::fleet {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

chat::SpecialTokens special_tokens(const engine::ModelFacts& facts) {
  return {.begin = facts.begin_text, .end = facts.end_text};
}

// `named`: the template in the model's file that has the chosen name.
Result<chat::ChatTemplate> chosen_chat_template(const engine::ModelFacts& facts,
                                                const std::optional<std::string>& named,
                                                const ModelChoice& choice) {
  const std::string& name = choice.chat_template;
  if (name.empty()) return own_chat_template(facts);
  if (name == "chatml") return chat::ChatTemplate::make(name, special_tokens(facts));
  std::optional<std::string> text = choice.chat_template_text ? choice.chat_template_text : named;
  if (!text) {
    Result<std::string> read = read_template_file(name);
    if (!read) return read.error();
    text = *std::move(read);
  }
  Result<chat::ChatTemplate> made = chat::ChatTemplate::make(*text, special_tokens(facts));
  if (made) return made;
  return Error{ErrorKind::kInvalid,
               fmt::format("--chat-template {}: {}", name, made.error().message)};
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

Result<chat::ChatTemplate> chosen_chat_template(const engine::LlamaModel& model,
                                                const ModelChoice& choice) {
  return chosen_chat_template(model.facts(), model.named_chat_template(choice.chat_template),
                              choice);
}

Result<chat::ChatTemplate> chosen_chat_template(const engine::LoadedVocabulary& model,
                                                const ModelChoice& choice) {
  const auto named = model.named_chat_templates.find(choice.chat_template);
  return chosen_chat_template(
      model.facts,
      named == model.named_chat_templates.end() ? std::nullopt : std::optional(named->second),
      choice);
}

Result<chat::ChatTemplate> simulated_chat_template(const ModelChoice& choice) {
  const chat::SpecialTokens tokens{.begin = "", .end = "<|im_end|>"};
  if (choice.chat_template.empty() || choice.chat_template == "chatml")
    return chat::ChatTemplate::make("chatml", tokens);
  std::optional<std::string> text = choice.chat_template_text;
  if (!text) {
    Result<std::string> read = read_template_file(choice.chat_template);
    if (!read) return read.error();
    text = *std::move(read);
  }
  Result<chat::ChatTemplate> made = chat::ChatTemplate::make(*text, tokens);
  if (made) return made;
  return made.error().in(fmt::format("--chat-template {}", choice.chat_template));
}

Result<std::string> read_template_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::is_directory(path, error)) {
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
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

Result<void> read_piped_templates(std::vector<ModelChoice>& choices) {
  std::map<std::string, std::string> texts;  // several models may take one
  for (ModelChoice& choice : choices) {
    std::error_code error;
    const std::filesystem::file_status status =
        std::filesystem::status(choice.chat_template, error);
    if (choice.chat_template.empty() || !std::filesystem::is_other(status)) continue;
    if (!texts.contains(choice.chat_template)) {
      Result<std::string> text = read_template_file(choice.chat_template);
      if (!text) return text.error();
      texts[choice.chat_template] = *std::move(text);
    }
    choice.chat_template_text = texts[choice.chat_template];
  }
  return {};
}

}  // namespace windrow::fleet
