// The parser: turns the source of a template into a tree, by recursive descent. Throws Failure.
// ExpressionParser is its part for expressions, and the base of the part for statements
// (parser.cc). The grammar and its precedences are Jinja2's, with their surprises: a ~ binds
// tighter than a +, ** groups to the left, and a filter applies to the whole signed operand before
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/ast.h"
#include "jinja/budget.h"
#include "jinja/lexer.h"

namespace windrow::jinja {

// `source` has normal lines (lexer.h). Pure.
Tree parse_template(std::string_view source);

// Used by one thread.
class ExpressionParser : protected TokenCursor {
 public:
  explicit ExpressionParser(std::vector<Token> tokens);

 protected:
  // --- expressions
  ExpressionPtr parse_expression(bool with_conditional = true);
  // One expression, or several with commas as a tuple; `end_name` may end it.
  ExpressionPtr parse_tuple(bool with_conditional = true, bool in_brackets = false,
                            std::string_view end_name = {});
  ExpressionPtr parse_filters(ExpressionPtr input, bool inline_start);
  bool tuple_ends(std::string_view end_name) const;

  TextPtr text_of(std::string_view bytes) const;

  // --- what the parser of statements needs to know of expressions
  struct Unknown {  // a filter or test that does not exist
    size_t offset;
    std::string message;
    bool is_certain;  // an error even if it is not reached
  };
  struct Uses {
    bool loop = false;
    bool caller = false;
    bool varargs = false;
    bool kwargs = false;
  };

  // Forgets those after the first `count` that are errors only when they are reached.
  void forgive_unknown_since(size_t count);

  std::vector<Unknown> unknown_;
  Uses uses_;
  Names names_;

  // As Budget::Level, for the parser's own recursion.
  void check_stack() const { stack_.check_stack(); }

 private:
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter = true);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_string();
  ExpressionPtr parse_integer_token();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_subscribed();
  ExpressionPtr parse_call(ExpressionPtr callee);
  ExpressionPtr parse_filter_or_test(ExpressionPtr node);
  ExpressionPtr parse_test(ExpressionPtr subject);
  CallArguments parse_arguments();
  std::string parse_dotted_name();
  ExpressionPtr parse_binary(ExpressionPtr left, Operator op, ExpressionPtr right, size_t offset);

  Budget stack_;
};

}  // namespace windrow::jinja
