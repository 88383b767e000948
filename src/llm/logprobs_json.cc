#include "llm/logprobs_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "json/writer.h"

namespace windrow::llm {
namespace {

// JSON has no infinity; OpenAI says by this number that a token is as good as impossible.
float finite_logprob(float logprob) {
  return std::isfinite(logprob) ? logprob : -9999.0F;
}

// A token that is no text by itself, being a part of a character, is spelt as OpenAI does it: bytes
// that are not printable ASCII as \xNN, with "bytes:" in front in completions and without in chat.
std::string token_text(std::string_view bytes, std::string_view prefix) {
  if (utf8_repair(bytes) == bytes) return std::string(bytes);
  std::string text(prefix);
  for (const char character : bytes) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7F && byte != '\\') {
      text += character;
    } else {
      append_format(text, "\\x{:02x}", byte);
    }
  }
  return text;
}

// {"token", "logprob", "bytes"}, not closed. A control token has the bytes of its name; few tokens
// have none.
void append_token(std::string& text, const TokenLogprob& token) {
  text += R"({"token":)";
  append_json(token_text(token.bytes, ""), text);
  text += R"(,"logprob":)";
  append_json(finite_logprob(token.logprob), text);
  text += R"(,"bytes":)";
  if (token.bytes.empty()) {
    text += "null";
    return;
  }
  append_json_array(text, token.bytes, [&](char byte) {
    append_format(text, "{}", static_cast<unsigned char>(byte));
  });
}

}  // namespace

void append_token_logprobs(std::span<const ScoredToken> tokens, std::string& text) {
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    append_token(text, token.chosen);
    text += R"(,"top_logprobs":)";
    append_json_array(text, token.top, [&](const TokenLogprob& one) {
      append_token(text, one);
      text += '}';
    });
    text += '}';
  });
}

void append_chat_logprobs(std::span<const ScoredToken> tokens, std::string& text) {
  text += R"({"content":)";
  append_token_logprobs(tokens, text);
  text += R"(,"refusal":null})";
}

namespace {

// The most likely tokens and the chosen one. Of tokens that
// are spelt alike the most likely counts, as an object has a name only once.
void append_top_object(std::string& text, const ScoredToken& token) {
  if (!token.has_logprob) {
    text += "null";
    return;
  }
  std::vector<std::string> names;
  text += '{';
  const auto add = [&](const TokenLogprob& one) {
    std::string name = token_text(one.bytes, "bytes:");
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    if (!names.empty()) text += ',';
    append_json(name, text);
    text += ':';
    append_json(finite_logprob(one.logprob), text);
    names.push_back(std::move(name));
  };
  for (const TokenLogprob& one : token.top)
    add(one);
  add(token.chosen);
  text += '}';
}

}  // namespace

void append_completion_logprobs(std::span<const ScoredToken> tokens,
                                std::span<const int32_t> offsets, std::string& text) {
  text += R"({"tokens":)";
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    append_json(token_text(token.chosen.bytes, "bytes:"), text);
  });
  text += R"(,"token_logprobs":)";
  append_json_array(text, tokens, [&](const ScoredToken& token) {
    if (token.has_logprob) {
      append_json(finite_logprob(token.chosen.logprob), text);
    } else {
      text += "null";
    }
  });
  text += R"(,"top_logprobs":)";
  append_json_array(text, tokens,
                    [&](const ScoredToken& token) { append_top_object(text, token); });
  text += R"(,"text_offset":)";
  append_json_array(text, offsets, [&](int32_t offset) { append_format(text, "{}", offset); });
  text += '}';
}

// --- text offsets ---

namespace {

bool is_lead(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

int32_t count_characters(std::string_view text) {
  int32_t count = 0;
  for (const char byte : text) {
    if (is_lead(byte)) ++count;
  }
  return count;
}

// How much of the text, which is well-formed and so may differ from the bytes, the token is.
size_t length_in_text(std::string_view token, std::string_view rest, bool at_start) {
  if (rest.starts_with(token)) return token.size();
  const std::string repaired = utf8_repair(token);
  if (rest.starts_with(repaired)) return repaired.size();
  // A tokeniser that marks words by the blank before them may put one before the first as well.
  if (at_start && token.starts_with(' ') && rest.starts_with(token.substr(1))) {
    return token.size() - 1;
  }
  return 0;
}

}  // namespace

std::vector<int32_t> text_offsets(const Choice& choice) {
  TextOffsets offsets(choice.text_begin);
  offsets.add_text(choice.text);
  std::vector<int32_t> all;
  all.reserve(choice.tokens.size());
  for (const ScoredToken& token : choice.tokens)
    all.push_back(offsets.next(token.chosen.bytes));
  return all;
}

void TextOffsets::add_text(std::string_view text) {
  text_.erase(0, used_);
  used_ = 0;
  text_ += text;
}

int32_t TextOffsets::next(std::string_view token) {
  const std::string_view rest = std::string_view(text_).substr(used_);
  const bool within_character = !rest.empty() && !is_lead(rest.front());
  const int32_t offset = within_character ? characters_ - 1 : characters_;
  const size_t length = length_in_text(token, rest, at_start_);
  characters_ += count_characters(rest.substr(0, length));
  used_ += length;
  if (length > 0) at_start_ = false;
  return offset;
}

}  // namespace windrow::llm
