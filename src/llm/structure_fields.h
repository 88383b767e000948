// Readers of the fields that ask for a structure: response_format, and the names that vLLM
// (guided_*, structured_outputs) and llama-server (json_schema, grammar) have for parts of it.
#pragma once

#include <string_view>

#include "llm/draft.h"

namespace windrow::llm {

Problem read_response_format(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_structured_outputs(std::string_view name, const boost::json::value& value,
                                Draft& draft);

// A schema, as an object or as its text.
Problem read_schema_field(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_regex_field(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_choice_field(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_grammar_field(std::string_view name, const boost::json::value& value, Draft& draft);

// Of schemas: "annotate" or "refuse".
Problem read_schema_unknown(std::string_view name, const boost::json::value& value, Draft& draft);

// What the structure and other fields say together.
Problem settle_structure(Draft& draft);

}  // namespace windrow::llm
