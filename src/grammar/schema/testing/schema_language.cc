#include "grammar/schema/testing/schema_language.h"

#include <boost/json/parse.hpp>
#include <vector>

namespace windrow::grammar::testing {

std::shared_ptr<const TokenTables> byte_vocabulary() {
  static const std::shared_ptr<const TokenTables> tables = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte)
      tokens.emplace_back(1, static_cast<char>(byte));
    tokens.emplace_back();
    return TokenTables::make(tokens, {256});
  }();
  return tables;
}

SchemaLanguage::SchemaLanguage(std::string_view schema, const SchemaOptions& options) {
  make(boost::json::parse(schema), options);
}

SchemaLanguage::SchemaLanguage(const boost::json::value& schema, const SchemaOptions& options) {
  make(schema, options);
}

void SchemaLanguage::make(const boost::json::value& schema, const SchemaOptions& options) {
  auto grammar = schema_grammar(schema, options);
  if (!grammar) {
    error_ = grammar.error().message;
    return;
  }
  grammar_ = std::make_shared<CompiledGrammar>(*grammar, byte_vocabulary());
}

bool SchemaLanguage::has(std::string_view text) const {
  Matcher at(grammar_);
  return at.accept_bytes(text) && at.can_end();
}

bool SchemaLanguage::begins(std::string_view text) const {
  return Matcher(grammar_).accept_bytes(text);
}

}  // namespace windrow::grammar::testing
