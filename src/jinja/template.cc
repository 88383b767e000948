#include "jinja/template.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "jinja/interpreter.h"
#include "jinja/lexer.h"
#include "jinja/parser.h"
#include "jinja/runtime.h"
#include "jinja/unicode.h"

namespace windrow::jinja {
namespace {

constexpr size_t kShownCharactersMax = 80;

// "line 3, column 7: MESSAGE: {{ the line }}"
std::string located(const std::string& source, size_t offset, std::string_view message) {
  const size_t at = std::min(offset, source.size());
  const auto line =
      std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const size_t begin = at == 0 ? 0 : source.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  const size_t end = std::min(source.find('\n', at), source.size());
  const size_t column = count_characters(std::string_view(source).substr(begin, at - begin)) + 1;
  // Templates are often one long line: only its part around the error is shown.
  size_t from = begin;
  for (size_t left = column > kShownCharactersMax / 2 ? column - kShownCharactersMax / 2 : 0;
       left > 0; --left) {
    next_character(source, from);
  }
  size_t to = from;
  for (size_t shown = 0; to < end && shown < kShownCharactersMax; ++shown)
    next_character(source, to);
  std::string excerpt = source.substr(from, to - from);
  const size_t text = excerpt.find_first_not_of(" \t");
  excerpt.erase(0, std::min(text, excerpt.size()));
  return fmt::format("line {}, column {}: {}, in \"{}{}{}\"", line, column, message,
                     from > begin ? "..." : "", excerpt, to < end ? "..." : "");
}

}  // namespace

struct Template::Parsed {
  std::string source;
  Tree tree;
  std::vector<Token> words;  // names and texts, for mentions()
};

Template::Template(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

Result<Template> Template::parse(std::string_view source) {
  if (utf8_repair(source) != source) {
    return Error{ErrorKind::kInvalid, "the template is not UTF-8 text"};
  }
  auto parsed = std::make_shared<Parsed>();
  parsed->source = normal_lines(source);
  try {
    parsed->tree = parse_template(parsed->source);
    for (Token& token : tokenize(parsed->source)) {
      if (token.type == Token::Type::kName || token.type == Token::Type::kString) {
        parsed->words.push_back(std::move(token));
      }
    }
  } catch (const Failure& failure) {
    const size_t offset = failure.offset == Failure::kHere ? 0 : failure.offset;
    return Error{ErrorKind::kInvalid, located(parsed->source, offset, failure.message)};
  }
  return Template(std::move(parsed));
}

Result<Rendered> Template::render(const boost::json::object& variables,
                                  const RenderOptions& options) const {
  Runtime runtime(options);
  Interpreter interpreter(parsed_->tree, runtime);
  try {
    const TextPtr text = interpreter.run(variables);
    Rendered rendered;
    text->for_each_run(0, text->bytes().size(), [&](std::string_view bytes, Origin origin) {
      rendered.segments.push_back({std::string(bytes), origin == Origin::kInput});
    });
    return rendered;
  } catch (const Failure& failure) {
    if (failure.kind == Failure::Kind::kRaised) return Error{ErrorKind::kInvalid, failure.message};
    const size_t offset = failure.offset == Failure::kHere ? interpreter.offset() : failure.offset;
    return Error{
        failure.kind == Failure::Kind::kLimit ? ErrorKind::kNoSpace : ErrorKind::kUnavailable,
        located(parsed_->source, offset, failure.message)};
  }
}

bool Template::mentions(std::string_view name) const {
  return std::any_of(parsed_->words.begin(), parsed_->words.end(),
                     [&](const Token& word) { return word.text == name; });
}

std::vector<std::string> Template::texts() const {
  std::set<std::string> texts;
  for (const Token& word : parsed_->words) {
    if (word.type == Token::Type::kString && !word.text.empty()) texts.insert(word.text);
  }
  return {texts.begin(), texts.end()};
}

const std::string& Template::source() const {
  return parsed_->source;
}

std::string Rendered::text() const {
  std::string all;
  for (const Segment& segment : segments)
    all += segment.text;
  return all;
}

}  // namespace windrow::jinja
