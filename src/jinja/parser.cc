#include "jinja/parser.h"

#include <initializer_list>
#include <utility>

#include "jinja/failure.h"
#include "jinja/lexer.h"

namespace windrow::jinja {
namespace {

constexpr size_t kParametersMax = 1000;

}  // namespace

class StatementParser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Tree run() {
    Tree tree;
    tree.body = parse_body({});
    for (const Unknown& unknown : unknown_)
      fail_at(unknown.offset, "{}", unknown.message);
    tree.names = std::move(names_);
    return tree;
  }

 private:
  using EndNames = std::initializer_list<std::string_view>;

  bool at_end_name(EndNames end_names) const {
    for (const std::string_view name : end_names) {
      if (current().is_name(name)) return true;
    }
    return false;
  }

  // Up to a tag of one of these names, which is the current token then.
  Body parse_body(EndNames end_names) {
    check_stack();
    Body body;
    for (;;) {
      const Token& token = current();
      switch (token.type) {
        case Token::Type::kData:
          body.push_back(std::make_unique<Data>(token.offset, text_of(token.text)));
          take();
          break;
        case Token::Type::kPrintBegin: {
          take();
          ExpressionPtr printed = parse_tuple();
          expect(Token::Type::kPrintEnd, "'}}'");
          body.push_back(std::make_unique<Print>(token.offset, std::move(printed)));
          break;
        }
        case Token::Type::kTagBegin:
          take();
          if (at_end_name(end_names)) return body;
          parse_statement(body, end_names);
          expect(Token::Type::kTagEnd, "'%}'");
          break;
        default:
          if (end_names.size() == 0) return body;
          fail_at(open_tags_.back().second, "this '{}' has no end: expected '{}'",
                  open_tags_.back().first, fmt::join(end_names, "' or '"));
      }
    }
  }

  // The rest of a tag and what follows it; the end tag's name is left when it is of several.
  Body parse_block(EndNames end_names) {
    skip_operator(":");
    expect(Token::Type::kTagEnd, "'%}'");
    Body body = parse_body(end_names);
    if (end_names.size() == 1) take();
    return body;
  }

  // A body with variables of its own. Filters that do not exist are errors there.
  Body parse_scope(EndNames end_names) {
    const size_t before = unknown_.size();
    Body body = parse_block(end_names);
    for (size_t i = before; i < unknown_.size(); ++i)
      unknown_[i].is_certain = true;
    return body;
  }

  // A body that runs as a function: no loop around it can be left from inside.
  Body parse_function_body(EndNames end_names) {
    const int loops = std::exchange(loops_, 0);
    Body body = parse_scope(end_names);
    loops_ = loops;
    return body;
  }

  void parse_statement(Body& body, EndNames end_names) {
    if (current().type != Token::Type::kName) unexpected("the name of a tag");
    const std::string tag = current().text;
    const size_t offset = current().offset;
    open_tags_.emplace_back(tag, offset);
    if (tag == "if") {
      body.push_back(parse_if());
    } else if (tag == "for") {
      body.push_back(parse_for());
    } else if (tag == "set") {
      body.push_back(parse_set());
    } else if (tag == "macro") {
      body.push_back(parse_macro());
    } else if (tag == "call") {
      body.push_back(parse_call_block());
    } else if (tag == "filter") {
      body.push_back(parse_filter_block());
    } else if (tag == "with") {
      body.push_back(parse_with());
    } else if (tag == "generation") {
      take();
      auto generation = std::make_unique<Generation>(offset);
      expect(Token::Type::kTagEnd, "'%}'");
      generation->body = parse_generation_body();
      body.push_back(std::move(generation));
    } else if (tag == "print") {
      parse_print(body);
    } else if (tag == "break" || tag == "continue") {
      take();
      if (loops_ == 0) fail_at(offset, "'{}' outside of a loop", tag);
      body.push_back(std::make_unique<Jump>(
          tag == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue, offset));
    } else {
      fail_tag(tag, offset, end_names);
    }
    open_tags_.pop_back();
  }

  [[noreturn]] void fail_tag(std::string_view tag, size_t offset, EndNames end_names) const {
    for (const std::string_view refused :
         {"include", "import", "from", "extends", "block", "autoescape"}) {
      if (tag == refused) {
        fail_at(offset, "'{}' is not supported: a chat template is one file by itself", tag);
      }
    }
    if (end_names.size() == 0) fail_at(offset, "unknown tag '{}'", tag);
    const auto& open = open_tags_[open_tags_.size() - 2];
    fail_at(offset, "unknown tag '{}'; the '{}' before it ends with '{}'", tag, open.first,
            fmt::join(end_names, "' or '"));
  }

  Body parse_generation_body() {
    const int loops = std::exchange(loops_, 0);
    const size_t before = unknown_.size();
    Body body = parse_body({"endgeneration"});
    take();
    for (size_t i = before; i < unknown_.size(); ++i)
      unknown_[i].is_certain = true;
    loops_ = loops;
    return body;
  }

  void parse_print(Body& body) {
    const size_t offset = take().offset;
    bool first = true;
    while (current().type != Token::Type::kTagEnd) {
      if (!first) expect_operator(",");
      first = false;
      body.push_back(std::make_unique<Print>(offset, parse_expression()));
    }
  }

  StatementPtr parse_if() {
    auto node = std::make_unique<If>(take().offset);
    const size_t before = unknown_.size();
    for (;;) {
      ExpressionPtr condition = parse_tuple(false);
      Body body = parse_block({"elif", "else", "endif"});
      node->branches.emplace_back(std::move(condition), std::move(body));
      if (skip_name("elif")) continue;
      if (skip_name("else")) {
        node->otherwise = parse_block({"endif"});
      } else {
        take();
      }
      break;
    }
    forgive_unknown_since(before);
    return node;
  }

  StatementPtr parse_for() {
    auto node = std::make_unique<For>(take().offset);
    node->target = parse_targets("in", true);
    if (!skip_name("in")) unexpected("'in'");
    node->iterable = parse_tuple(false, false, "recursive");
    const size_t before = unknown_.size();
    if (skip_name("if")) node->condition = parse_expression();
    for (size_t i = before; i < unknown_.size(); ++i)
      unknown_[i].is_certain = true;
    node->recursive = skip_name("recursive");
    const bool outer_uses_loop = std::exchange(uses_.loop, false);
    ++loops_;
    ++for_depth_;
    node->body = parse_scope({"endfor", "else"});
    node->uses_loop = uses_.loop || node->recursive;
    uses_.loop |= outer_uses_loop;
    // As in Jinja2, what follows `else` is outside of the loop.
    --loops_;
    if (take().text == "else") node->otherwise = parse_scope({"endfor"});
    --for_depth_;
    return node;
  }

  Target parse_name_target() {
    const Token& token = expect_name("a name");
    for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"}) {
      if (token.text == constant) fail_at(token.offset, "'{}' cannot be assigned to", token.text);
    }
    Target target;
    target.offset = token.offset;
    target.id = names_.id_of(token.text);
    target.name = names_.all()[target.id];
    return target;
  }

  Target parse_one_target(bool in_for) {
    check_stack();
    if (skip_operator("(")) {
      Target target = parse_targets({}, in_for);
      expect_operator(")");
      return target;
    }
    Target target = parse_name_target();
    if (target.id == Names::kLoop && (in_for || for_depth_ > 0)) {
      fail_at(target.offset, "'loop' cannot be assigned to in a loop");
    }
    return target;
  }

  // Names, or names in brackets, with commas.
  Target parse_targets(std::string_view end_name, bool in_for = false) {
    Target tuple;
    tuple.offset = current().offset;
    for (;;) {
      if (!tuple.parts.empty()) expect_operator(",");
      const bool ends = tuple_ends(end_name) || current().is_operator("=");
      if (ends && (!tuple.parts.empty() || current().is_operator(")"))) break;
      tuple.parts.push_back(parse_one_target(in_for));
      if (!current().is_operator(",")) break;
      tuple.is_tuple = true;
    }
    if (tuple.parts.empty()) tuple.is_tuple = true;
    if (!tuple.is_tuple) {
      Target only = std::move(tuple.parts.front());
      return only;
    }
    return tuple;
  }

  Target parse_set_target() {
    if (current().type == Token::Type::kName && look_ahead().is_operator(".")) {
      Target target;
      target.offset = current().offset;
      const std::string name = take().text;
      target.id = names_.id_of(name);
      target.name = names_.all()[target.id];
      take();
      target.attribute = text_of(expect_name("a name after '.'").text);
      return target;
    }
    return parse_targets({});
  }

  StatementPtr parse_set() {
    const size_t offset = take().offset;
    Target target = parse_set_target();
    if (skip_operator("=")) {
      auto node = std::make_unique<Set>(offset);
      node->target = std::move(target);
      node->value = parse_tuple();
      return node;
    }
    auto node = std::make_unique<SetBlock>(offset);
    node->target = std::move(target);
    node->filter = parse_filters(nullptr, false);
    node->body = parse_scope({"endset"});
    return node;
  }

  void parse_parameters(Signature& signature) {
    expect_operator("(");
    while (!current().is_operator(")")) {
      if (!signature.parameters.empty()) expect_operator(",");
      const Target name = parse_name_target();
      if (signature.parameters.size() >= kParametersMax) {
        fail_at(name.offset, "too many parameters");
      }
      for (const auto& other : signature.parameters) {
        if (other.id == name.id) {
          fail_at(name.offset, "two parameters have the name '{}'", name.name->bytes());
        }
      }
      Signature::Parameter parameter{name.id, name.name, nullptr};
      if (skip_operator("=")) {
        parameter.preset = parse_expression();
      } else if (!signature.parameters.empty() && signature.parameters.back().preset) {
        fail_at(name.offset, "a parameter without a default follows one with a default");
      }
      signature.parameters.push_back(std::move(parameter));
    }
    take();
  }

  void parse_signature_body(Signature& signature, EndNames end_names, const Uses& outer) {
    signature.body = parse_function_body(end_names);
    signature.uses_caller = uses_.caller;
    signature.uses_varargs = uses_.varargs;
    signature.uses_kwargs = uses_.kwargs;
    uses_.loop |= outer.loop;
    uses_.caller |= outer.caller;
    uses_.varargs |= outer.varargs;
    uses_.kwargs |= outer.kwargs;
  }

  StatementPtr parse_macro() {
    auto node = std::make_unique<MacroDefinition>(take().offset);
    const Target name = parse_name_target();
    node->id = name.id;
    node->name = name.name;
    const Uses outer = std::exchange(uses_, {});
    parse_parameters(node->signature);
    parse_signature_body(node->signature, {"endmacro"}, outer);
    return node;
  }

  StatementPtr parse_call_block() {
    auto node = std::make_unique<CallBlock>(take().offset);
    const Uses before = std::exchange(uses_, {});
    if (current().is_operator("(")) parse_parameters(node->signature);
    const Uses of_parameters = std::exchange(uses_, before);
    node->call = parse_expression();
    if (node->call->kind != Expression::Kind::kCall) {
      fail_at(node->call->offset, "a call block needs a call");
    }
    const Uses outer = std::exchange(uses_, of_parameters);
    parse_signature_body(node->signature, {"endcall"}, outer);
    return node;
  }

  StatementPtr parse_filter_block() {
    auto node = std::make_unique<FilterBlock>(take().offset);
    node->filter = parse_filters(nullptr, true);
    node->body = parse_scope({"endfilter"});
    return node;
  }

  StatementPtr parse_with() {
    auto node = std::make_unique<With>(take().offset);
    while (current().type != Token::Type::kTagEnd) {
      if (!node->assignments.empty()) expect_operator(",");
      Target target = parse_targets({});
      expect_operator("=");
      node->assignments.emplace_back(std::move(target), parse_expression());
    }
    node->body = parse_scope({"endwith"});
    return node;
  }

  std::vector<std::pair<std::string, size_t>> open_tags_;
  int loops_ = 0;
  int for_depth_ = 0;
};

Tree parse_template(std::string_view source) {
  return StatementParser(tokenize(source)).run();
}

}  // namespace windrow::jinja
