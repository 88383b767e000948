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

// The most likely tokens and, where it is not among them, the one that was taken. Of tokens that
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

}  // namespace windrow::llm
