#include "engine/chat_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace windrow::engine {
namespace {

constexpr std::string_view kWhitespace = " \t\r\n";

void trim_front(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kWhitespace), text.size()));
}

void trim_back(std::string_view& text) {
  text = text.substr(0, text.find_last_not_of(kWhitespace) + 1);
}

// The inside of a tag without what means nothing there: spaces outside strings, the kind of quote.
std::string plain_code(std::string_view code) {
  std::string plain;
  char quote = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (quote == 0) {
      if (c == '\'' || c == '"') quote = c;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) plain += c == '"' ? '\'' : c;
    } else if (c == '\\' && i + 1 < code.size()) {
      plain += c;
      plain += code[++i];
    } else if (c == '\n') {
      plain += "\\n";
    } else {
      if (c == quote) quote = 0;
      plain += c == '"' ? '\'' : c;
    }
  }
  return plain;
}

// Where the tag whose inside begins at `at` is closed, or npos.
size_t find_close(std::string_view text, size_t at, std::string_view close) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\') {
        ++at;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (text.substr(at).starts_with(close)) {
      return at;
    }
  }
  return std::string_view::npos;
}

// The template as a row of tags: text between them that would be printed becomes a tag that prints
// it. Whitespace is dropped where the trim marks say so and where trim_blocks and lstrip_blocks do,
// which are on wherever chat templates are rendered: a line break behind a block, and spaces from
// the start of a line to a block.
std::string only_tags(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string tags;
  bool line_begins = true;    // nothing but what is dropped stands in this line so far
  bool after_block = false;   // the last tag drops a line break behind it
  bool trims_behind = false;  // the last tag drops all whitespace behind it
  for (size_t at = 0; at <= text.size();) {
    const size_t open = std::min({text.find("{%", at), text.find("{{", at), text.size()});
    const std::string_view inside = text.substr(std::min(open + 2, text.size()));
    const bool block = text.substr(open).starts_with("{%");
    std::string_view between = text.substr(at, open - at);
    if (trims_behind) trim_front(between);
    if (after_block && between.starts_with('\n')) {
      between.remove_prefix(1);
      line_begins = true;
    }
    if (inside.starts_with('-')) {
      trim_back(between);
    } else if (block && !inside.starts_with('+')) {
      const size_t last = between.find_last_not_of(" \t");
      const bool from_line_begin =
          last == std::string_view::npos ? line_begins : between[last] == '\n';
      if (from_line_begin) between = between.substr(0, last + 1);
    }
    if (!between.empty()) tags += fmt::format("{{{{'{}'}}}}", between);
    if (open == text.size()) break;
    const std::string_view close = block ? "%}" : "}}";
    const size_t end = find_close(text, open + 2, close);
    if (end == std::string_view::npos) return tags + std::string(text.substr(open));
    std::string_view code = text.substr(open + 2, end - open - 2);
    if (code.starts_with('-') || code.starts_with('+')) code.remove_prefix(1);
    trims_behind = code.ends_with('-');
    after_block = block && !code.ends_with('+');
    if (trims_behind || code.ends_with('+')) code.remove_suffix(1);
    tags += fmt::format("{}{}{}", block ? "{%" : "{{", plain_code(code), close);
    line_begins = false;
    at = end + 2;
  }
  return tags;
}

// What differs between spellings of one template and means nothing: the above, and how a key is
// named.
std::string normalised(std::string_view text) {
  std::string plain = only_tags(text);
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = plain.find(from); at != std::string::npos;
         at = plain.find(from, at + to.size())) {
      plain.replace(at, from.size(), to);
    }
  };
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

std::vector<PromptPart> format_chat(ChatFormat, const boost::json::array& messages) {
  std::vector<PromptPart> parts;
  for (const boost::json::value& message : messages) {
    parts.push_back({"<|im_start|>", true});
    parts.push_back({fmt::format("{}\n{}", std::string_view(message.at("role").as_string()),
                                 std::string_view(message.at("content").as_string())),
                     false});
    parts.push_back({"<|im_end|>", true});
    parts.push_back({"\n", false});
  }
  parts.push_back({"<|im_start|>", true});
  parts.push_back({"assistant\n", false});
  return parts;
}

}  // namespace windrow::engine
