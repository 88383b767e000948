// The lexer: a template's source as tokens, with Jinja2's rules of white space (trim_blocks and
// lstrip_blocks on, a final line end dropped).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::jinja {

struct Token {
  enum class Type : uint8_t {
    kData,  // text outside of all tags
    kPrintBegin,
    kPrintEnd,
    kTagBegin,
    kTagEnd,
    kName,
    kString,  // text: what it stands for
    kInteger,
    kFloat,
    kOperator,
    kEnd,
  };

  Type type;
  std::string text;
  size_t offset;  // into the source

  bool is_operator(std::string_view op) const { return type == Type::kOperator && text == op; }
  bool is_name(std::string_view name) const { return type == Type::kName && text == name; }
};

// "\r\n" and "\r" become "\n", and one line end at the end goes.
std::string normal_lines(std::string_view source);

// Tokens of a source of normal lines, kEnd last. Throws Failure.
std::vector<Token> tokenize(std::string_view source);

}  // namespace windrow::jinja
