#include "grammar/schema/schema_grammar.h"

#include "grammar/schema/conjunctions.h"
#include "grammar/schema/grammar_writer.h"
#include "grammar/schema/schema_node.h"

namespace windrow::grammar {
namespace json = boost::json;

namespace {

Error no_value(const JsonParts& parts) {
  return {ErrorKind::kInvalid,
          "no value is valid under this schema: " + parts.why_no_text()->message};
}

}  // namespace

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
  GrammarWriter writer(conjunctions, parts, options.property_order);
  Result<Part> part = writer.write_root(*root);
  if (!part) return part.error();
  auto grammar = builder.finish(*part, options.limits, give_up);
  if (grammar || grammar.error().kind == ErrorKind::kUnavailable) return grammar;
  if (Result<bool> ended = check_ends(conjunctions, *root); !ended) return ended.error();
  const std::string& message = grammar.error().message;
  if (parts.why_no_text() && message.find("no text") != std::string::npos) return no_value(parts);
  return schema_error(conjunctions[*root].pointer, message);
}

Result<Part> schema_part(GrammarBuilder& builder, const json::value& schema,
                         const SchemaOptions& options, const GiveUp& give_up) {
  Result<Schema> read = read_schema(schema, options, give_up);
  if (!read) return read.error();
  Conjunctions conjunctions(*read, give_up);
  Result<NodeId> root = possible_root(conjunctions, *read);
  if (!root) return root.error();
  JsonParts parts(builder, options.whitespace);
  GrammarWriter writer(conjunctions, parts, options.property_order);
  Result<Part> part = writer.write_root(*root);
  if (!part) return part;
  // A choice that has another text would hide it.
  Result<bool> ended = check_ends(conjunctions, *root);
  if (!ended) return ended.error();
  if (!*ended && parts.why_no_text()) return no_value(parts);
  return part;
}

}  // namespace windrow::grammar
