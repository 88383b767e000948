#include "grammar/schema/schema_grammar.h"

#include <fmt/format.h>

#include "grammar/schema/grammar_writer.h"
#include "grammar/schema/read_schema.h"

namespace windrow::grammar {
namespace json = boost::json;

Result<std::shared_ptr<const Grammar>> schema_grammar(const json::value& schema,
                                                      const SchemaOptions& options,
                                                      const GiveUp& give_up) {
  Result<Schema> read = read_schema(schema, options.open, give_up);
  if (!read) return read.error();
  Conjunctions conjunctions(*read, give_up);
  Result<NodeId> root = conjunctions.find({{read->root, false}});
  if (!root) return root.error();
  if (!conjunctions.possible(*root)) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("no value is valid under this schema: {}", conjunctions[*root].why)};
  }
  GrammarBuilder builder;
  JsonParts parts(builder, options.whitespace);
  GrammarWriter writer(conjunctions, parts);
  Result<Part> part = writer.write_root(*root);
  if (!part) return part.error();
  auto grammar = builder.finish(*part, options.limits);
  if (grammar) return grammar;
  if (const auto endless = conjunctions.endless(*root)) {
    return schema_error(
        *endless,
        "a value never ends: it must hold another one of its kind; take that out of "
        "required or minItems, or allow null in its place");
  }
  return grammar;
}

Result<std::shared_ptr<const Grammar>> json_grammar(Whitespace whitespace, bool object_only) {
  const json::value schema =
      object_only ? json::value(json::object{{"type", "object"}}) : json::value(true);
  return schema_grammar(schema, {.whitespace = whitespace, .open = true});
}

}  // namespace windrow::grammar
