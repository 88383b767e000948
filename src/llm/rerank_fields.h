// Fields of /v1/rerank, as Jina, Cohere and vLLM have them.
#pragma once

#include "llm/draft.h"

namespace windrow::llm {

Problem read_query(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_documents(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_n(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_return_documents(std::string_view name, const boost::json::value& value, Draft& draft);

}  // namespace windrow::llm
