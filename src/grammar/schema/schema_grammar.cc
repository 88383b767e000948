#include "grammar/schema/schema_grammar.h"

#include <fmt/format.h>

#include <string_view>

#include "grammar/schema/grammar_writer.h"
#include "grammar/schema/read_schema.h"

namespace windrow::grammar {
namespace json = boost::json;

namespace {

// The node of the whole schema, of which there is a value.
Result<NodeId> possible_root(Conjunctions& conjunctions, const Schema& schema) {
  Result<NodeId> root = conjunctions.find({{schema.root, false}});
  if (!root || conjunctions.possible(*root)) return root;
  return Error{ErrorKind::kInvalid,
               fmt::format("no value is valid under this schema: {}", conjunctions[*root].why)};
}

Error never_ends(std::string_view place) {
  return schema_error(place,
                      "a value never ends: it must hold another one of its kind; take that out of "
                      "required or minItems, or allow null in its place");
}

}  // namespace

Result<std::shared_ptr<const Grammar>> schema_grammar(const json::value& schema,
                                                      const SchemaOptions& options,
                                                      const GiveUp& give_up) {
  Result<Schema> read = read_schema(schema, options.open, give_up);
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
  if (const auto endless = conjunctions.endless(*root)) return never_ends(*endless);
  return grammar;
}

Result<Part> schema_part(GrammarBuilder& builder, const json::value& schema,
                         const SchemaOptions& options, const GiveUp& give_up) {
  Result<Schema> read = read_schema(schema, options.open, give_up);
  if (!read) return read.error();
  Conjunctions conjunctions(*read, give_up);
  Result<NodeId> root = possible_root(conjunctions, *read);
  if (!root) return root.error();
  JsonParts parts(builder, options.whitespace);
  GrammarWriter writer(conjunctions, parts);
  Result<Part> part = writer.write_root(*root);
  if (!part) return part;
  // A choice that has another text would hide it.
  if (const auto endless = conjunctions.endless(*root)) return never_ends(*endless);
  if (give_up && give_up())
    return Error{ErrorKind::kUnavailable, "working out the schema took too long"};
  return part;
}

Result<std::shared_ptr<const Grammar>> json_grammar(Whitespace whitespace, bool object_only) {
  const json::value schema =
      object_only ? json::value(json::object{{"type", "object"}}) : json::value(true);
  return schema_grammar(schema, {.whitespace = whitespace, .open = true});
}

}  // namespace windrow::grammar
