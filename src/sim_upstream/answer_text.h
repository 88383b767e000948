// The texts that a simulated upstream answers with. They depend on the request and the seed alone,
// so that the same request gets the same answer at any time. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"

namespace windrow::sim_upstream {

// The tokens of one answer before any limit, drawn by SimOptions::answer_tokens and answer_spread.
int64_t draw_answer_tokens(const SimOptions& options, std::string_view prompt, int32_t choice);

// The text of one choice. kText has `tokens` words; an echo or an object has its own length,
// whatever number of tokens is counted and waited for.
std::string answer_text(const SimOptions& options, const ModelCall& call, size_t prompt,
                        int32_t choice, int64_t tokens);

// One of the words of answers, determined by `number`.
std::string_view answer_word(uint64_t number);

// The last ids of a prompt, for an echo.
std::string last_ids(std::span<const int32_t> ids);

// JSON that violates most schemas that `json` fits: a list instead of an object, otherwise an
// object.
std::string in_another_shape(const std::string& json);

// A vector of length one, determined by the text.
std::vector<float> embedding_of(std::string_view text, int64_t dimensions);

// A value that fits a JSON schema, by type, enum, const, properties, items, minItems, minimum,
// anyOf, oneOf and $ref within the schema; null where the schema uses something else or is
// recursive.
boost::json::value example_of_schema(const boost::json::value& schema, Random& random);
inline boost::json::value example_of_schema(const boost::json::value& schema, Random&& random) {
  return example_of_schema(schema, random);
}

}  // namespace windrow::sim_upstream
