#include "grammar/schema/schema_grammar.h"

#include "grammar/schema/grammar_writer.h"
#include "grammar/schema/read_schema.h"
#include "grammar/schema/roots.h"

namespace windrow::grammar {
namespace json = boost::json;

Result<std::shared_ptr<const Grammar>> schema_grammar(const json::value& schema,
                                                      const SchemaOptions& options,
                                                      const GiveUp& give_up) {
  Result<Schema> read = read_schema(schema, options, give_up);
  if (!read) return read.error();
  Conjunctions conjunctions(*read, give_up);
  Result<NodeId> root = possible_root(conjunctions, *read);
  if (!root) return root.error();
  GrammarBuilder builder;
  JsonParts parts(builder, options.whitespace);
  GrammarWriter writer(conjunctions, parts);
  Result<Part> part = writer.write_root(*root);
  if (!part) return part.error();
  auto grammar = builder.finish(*part, options.limits);
  if (grammar) return grammar;
  if (Result<void> ended = ends(conjunctions, *root, give_up); !ended) return ended.error();
  return grammar;
}

Result<Part> schema_part(GrammarBuilder& builder, const json::value& schema,
                         const SchemaOptions& options, const GiveUp& give_up) {
  Result<Schema> read = read_schema(schema, options, give_up);
  if (!read) return read.error();
  Conjunctions conjunctions(*read, give_up);
  Result<NodeId> root = possible_root(conjunctions, *read);
  if (!root) return root.error();
  JsonParts parts(builder, options.whitespace);
  GrammarWriter writer(conjunctions, parts);
  Result<Part> part = writer.write_root(*root);
  if (!part) return part;
  // A choice that has another text would hide it.
  if (Result<void> ended = ends(conjunctions, *root, give_up); !ended) return ended.error();
  return part;
}

Result<std::shared_ptr<const Grammar>> json_grammar(Whitespace whitespace, bool object_only) {
  const json::value schema =
      object_only ? json::value(json::object{{"type", "object"}}) : json::value(true);
  return schema_grammar(schema, {.whitespace = whitespace, .open = true});
}

}  // namespace windrow::grammar
