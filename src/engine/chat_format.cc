#include "engine/chat_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace windrow::engine {
namespace {

// What differs between spellings of one template and means nothing: spaces outside strings, the
// kind of quote, trim marks around tags (there is no text between tags in these), how a key is
// named.
std::string normalised(std::string_view text) {
  std::string plain;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < text.size()) {
        plain += c;
        plain += text[++i];
        continue;
      }
      if (c == '\n') {
        plain += "\\n";
        continue;
      }
      if (c == quote) quote = 0;
      plain += c == '"' ? '\'' : c;
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    plain += c == '"' ? '\'' : c;
  }
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = plain.find(from); at != std::string::npos;
         at = plain.find(from, at + to.size())) {
      plain.replace(at, from.size(), to);
    }
  };
  replace("{%-", "{%");
  replace("-%}", "%}");
  replace("{{-", "{{");
  replace("-}}", "}}");
  replace("['role']", ".role");
  replace("['content']", ".content");
  replace("formessageinmessages", "forminmessages");
  replace("message.", "m.");
  replace("'\\n'+'", "'\\n");
  replace("'+'\\n'", "\\n'");
  return plain;
}

// ChatML as OpenAI described it, in the two ways it is commonly written.
constexpr std::array kChatMlTemplates = std::to_array<std::string_view>({
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
    "}}{% endif %}",
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif "
    "%}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
    "}}{% endif %}",
});

struct Family {
  std::string_view mark;
  std::string_view name;
};

// The first mark found names the template in the error; only to help its reader.
constexpr std::array kFamilies = std::to_array<Family>({
    {"<|channel|>", "GPT-OSS (harmony)"},
    {"<|start_header_id|>", "Llama 3"},
    {"<|header_start|>", "Llama 4"},
    {"<start_of_turn>", "Gemma"},
    {"<|turn>", "Gemma"},
    {"[INST]", "Mistral or Llama 2"},
    {"<|Assistant|>", "DeepSeek"},
    {"<\xEF\xBD\x9C"
     "Assistant\xEF\xBD\x9C>",
     "DeepSeek"},
    {"<|START_OF_TURN_TOKEN|>", "Command R"},
    {"<|start_of_role|>", "Granite"},
    {"<|im_start|>", "a ChatML variant (default system prompt, tools or thinking switch)"},
    {"<|assistant|>", "Phi or Zephyr"},
});

std::string family_of(std::string_view text) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& family) {
    return text.find(family.mark) != std::string_view::npos;
  });
  return found == kFamilies.end() ? "an unknown one" : std::string(found->name);
}

}  // namespace

std::string_view to_string(ChatFormat) {
  return "ChatML";
}

Result<ChatFormat> recognise_chat_format(std::string_view template_text) {
  if (template_text.empty()) {
    return Error{
        ErrorKind::kUnavailable,
        "the model has no chat template, so it cannot answer /v1/chat/completions; send its "
        "prompts as text to /v1/completions"};
  }
  const std::string wanted = normalised(template_text);
  for (const std::string_view known : kChatMlTemplates) {
    if (normalised(known) == wanted) return ChatFormat::kChatMl;
  }
  return Error{ErrorKind::kUnavailable,
               fmt::format("the model's chat template ({}) is not supported by this version, which "
                           "knows plain ChatML; send prompts that are already formatted to "
                           "/v1/completions",
                           family_of(template_text))};
}

std::vector<PromptPart> format_chat(ChatFormat, std::span<const llm::ChatMessage> messages) {
  std::vector<PromptPart> parts;
  for (const llm::ChatMessage& message : messages) {
    parts.push_back({"<|im_start|>", true});
    parts.push_back({fmt::format("{}\n{}", message.role, message.content), false});
    parts.push_back({"<|im_end|>", true});
    parts.push_back({"\n", false});
  }
  parts.push_back({"<|im_start|>", true});
  parts.push_back({"assistant\n", false});
  return parts;
}

}  // namespace windrow::engine
