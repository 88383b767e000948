// ChatFormat: messages -> the text the model was trained on, in parts, so that what a user wrote is
// never taken for a control token. Pure.
//
// A model says its format by a template in its metadata. Those that are ChatML and nothing else are
// known here; every other one is refused by name: a prompt that almost fits gives answers that are
// quietly worse, and nobody would know why.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::engine {

struct PromptPart {
  std::string text;
  bool control = false;  // control tokens in it are meant

  friend bool operator==(const PromptPart&, const PromptPart&) = default;
};

enum class ChatFormat : uint8_t { kChatMl };

std::string_view to_string(ChatFormat format);

// `template_text` as the model's metadata has it; empty when it has none. kUnavailable otherwise,
// with the family of the template if it can be told.
Result<ChatFormat> recognise_chat_format(std::string_view template_text);

// Neighbouring parts differ in `control`, so that a tokeniser sees the same pieces of text it would
// see in the whole.
std::vector<PromptPart> format_chat(ChatFormat format, const boost::json::array& messages);

}  // namespace windrow::engine
