// How rows of the engine end without an answer, in the words of the API.
#pragma once

#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::engine {

llm::Failure cancelled();

// Nothing can be answered any more.
llm::Failure backend_failure(std::string_view why);

// This row cannot be; others can.
llm::Failure row_failure(std::string_view code, std::string message);

// There was not memory enough for this row.
llm::Failure out_of_memory();

// Its structure can be read in too many ways at once.
llm::Failure too_complex();

}  // namespace windrow::engine
