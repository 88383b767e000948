// Fields of /v1/embeddings.
#pragma once

#include "llm/draft.h"

namespace windrow::llm {

Problem read_input(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_dimensions(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_encoding_format(std::string_view name, const boost::json::value& value, Draft& draft);

}  // namespace windrow::llm
