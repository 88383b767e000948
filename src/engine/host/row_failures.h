// The failures with which rows of the engine end, in the terms of the API. Values.
#pragma once

#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::engine {

// 499.
llm::Failure cancelled();

// 503: the model can answer nothing any more. Not the result of a row: another backend may answer
// it.
llm::Failure backend_failure(std::string_view why);

// 500: this row cannot be answered, others can.
llm::Failure row_failure(std::string_view code, std::string message);

// row_failure: an allocation for this row failed.
llm::Failure out_of_memory();

// 400: the structure is too ambiguous to follow (grammar::Matcher::too_complex).
llm::Failure too_complex();

// row_failure: the structure did not accept a token that it had allowed.
llm::Failure token_refused();

}  // namespace windrow::engine
