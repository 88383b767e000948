// The lexer: turns the source of a template into tokens, with Jinja2's white space rules
// (trim_blocks and lstrip_blocks on, a final line end dropped). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
    kString,  // text: its value
    kInteger,
    kFloat,
    kOperator,
    kEnd,
  };

  Type type;
  std::string text;
  size_t offset;  // in the source

  bool is_operator(std::string_view op) const { return type == Type::kOperator && text == op; }
  bool is_name(std::string_view name) const { return type == Type::kName && text == name; }
};

// The source with "\r\n" and "\r" replaced by "\n", and without one line end at its end.
std::string normal_lines(std::string_view source);

// Tokens of a source of normal lines, kEnd last. Throws Failure.
std::vector<Token> tokenize(std::string_view source);

// Reads tokens in order; the base of both parsers. One thread.
class TokenCursor {
 protected:
  // `tokens` ends with kEnd, which is current() once everything else is taken.
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  ~TokenCursor() = default;

  const Token& current() const { return tokens_[at_]; }
  const Token& look_ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

  // Takes the current token if it is this operator or name.
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);

  // Take the current token; throw Failure, with `what` in the message, if it is another one.
  void expect_operator(std::string_view op);
  void expect(Token::Type type, std::string_view what);
  const Token& expect_name(std::string_view what);

  [[noreturn]] void unexpected(std::string_view expected) const;

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace windrow::jinja
