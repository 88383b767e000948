#include "jinja/escape.h"

namespace windrow::jinja {
namespace {

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

void append_escaped(TextBuilder& out, const Text& text) {
  const std::string& bytes = text.bytes();
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::string_view escape = escape_of(bytes[at]);
    if (escape.empty()) continue;
    out.append(text, plain, at);
    out.append(escape, text.origin_at(at));
    plain = at + 1;
  }
  out.append(text, plain, bytes.size());
}

}  // namespace windrow::jinja
