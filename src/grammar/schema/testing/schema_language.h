// For tests: a schema as the set of texts its grammar has.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/matcher.h"
#include "grammar/schema/schema_grammar.h"

namespace windrow::grammar::testing {

class SchemaLanguage {
 public:
  // The schema as JSON text, which is well-formed.
  explicit SchemaLanguage(std::string_view schema, const SchemaOptions& options = {});
  SchemaLanguage(const boost::json::value& schema, const SchemaOptions& options);

  bool made() const { return grammar_ != nullptr; }
  const std::string& error() const { return error_; }  // empty when made

  bool has(std::string_view text) const;
  bool begins(std::string_view text) const;  // some text of it begins like this
  Matcher matcher() const { return Matcher(grammar_); }

 private:
  void make(const boost::json::value& schema, const SchemaOptions& options);

  std::shared_ptr<CompiledGrammar> grammar_;
  std::string error_;
};

// Its tokens are the 256 bytes; 256 ends the text.
std::shared_ptr<const TokenTables> byte_vocabulary();

}  // namespace windrow::grammar::testing
