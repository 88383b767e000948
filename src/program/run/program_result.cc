#include "program/run/program_result.h"

#include <boost/json/object.hpp>

#include "json/writer.h"

namespace windrow::program {

namespace json = boost::json;

std::string result_body(std::string_view program, const json::value& result,
                        const ProgramUsage& usage) {
  const llm::Usage& tokens = usage.tokens;
  const json::object body{
      {"object", "program.result"},
      {"program", program},
      {"result", result},
      {"usage",
       {{"prompt_tokens", tokens.prompt_tokens},
        {"completion_tokens", tokens.completion_tokens},
        {"total_tokens", int64_t{tokens.prompt_tokens} + tokens.completion_tokens},
        {"prompt_tokens_details", {{"cached_tokens", tokens.cached_tokens}}},
        {"completion_tokens_details", {{"reasoning_tokens", tokens.reasoning_tokens}}}}},
      {"program_usage",
       {{"calls", usage.calls},
        {"passes", usage.passes},
        {"wasted_tokens", usage.wasted_tokens},
        {"contexts_peak", usage.contexts_peak},
        {"memory_bytes_peak", usage.memory_bytes_peak}}}};
  std::string text;
  append_compact_json(body, text);
  return text;
}

}  // namespace windrow::program
