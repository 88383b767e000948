// The fields of request bodies: one reader for each field, and the table that says which endpoint
// has which. Fields come in any order, so what several of them mean together is settled after all
// have been read; request_json.cc does both. Pure; any thread.
//
// To add a field: declare its reader here, define it in the *_fields.cc of its kind, and give it a
// row in field_table.cc. A field without a row is refused by name.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/field_values.h"
#include "llm/request.h"
#include "llm/request_json.h"

namespace windrow::llm {

// The most likely tokens that an answer may list beside each of its own. OpenAI has 20 for chat and
// 5 for completions.
constexpr int32_t kTopLogprobsMax = 20;

// A Request while its body is read, with the fields that are settled last.
struct Draft {
  Request request;

  std::optional<int32_t> max_tokens;
  std::optional<int32_t> max_completion_tokens;
  std::optional<float> repetition_penalty;
  std::optional<float> repeat_penalty;  // llama-server's name of the same
  std::optional<int32_t> best_of;

  // Chat has a switch and a count; completions has the count alone.
  bool list_logprobs = false;
  std::optional<int32_t> top_logprobs;

  std::string reasoning_effort;
};

// --- the table (field_table.cc) ---

// Reads one field that is not null into the draft. Returns what is wrong with its value, or
// nothing.
using FieldReader = Problem (*)(std::string_view name, const boost::json::value& value,
                                Draft& draft);

// A row. Without a reader the field is refused, but for the one value that `rule.values` may name.
struct Field {
  FieldRule rule;
  FieldReader read = nullptr;
};

// nullptr where the endpoint has no field of this name.
const Field* find_field(Endpoint endpoint, std::string_view name);

// --- chat_fields.cc: fields that only chat completions have ---

Problem read_chat_messages(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_chat_tools(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_tool_choice(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_parallel_tool_calls(std::string_view name, const boost::json::value& value,
                                 Draft& draft);
Problem read_template_arguments(std::string_view name, const boost::json::value& value,
                                Draft& draft);
Problem read_max_reasoning_tokens(std::string_view name, const boost::json::value& value,
                                  Draft& draft);
Problem read_reasoning_effort(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_chat_tokens(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logprobs_switch(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_logprobs(std::string_view name, const boost::json::value& value, Draft& draft);

// The reasoning effort in any API's words, and which values are accepted, for documents.
inline constexpr std::string_view kEffortValues =
    "\"none\", \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\" or \"max\": the template's "
    "argument of the name reasoning_effort, and its enable_thinking (off with none); without "
    "effect where the template knows neither";
Problem read_effort(const boost::json::value& value, std::string_view param, std::string& effort);

// --- input_fields.cc: prompts, inputs and documents, and what else only their endpoints have ---

Problem read_prompt(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_echo(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logprobs_count(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_best_of(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_input(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_dimensions(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_encoding_format(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_query(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_documents(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_n(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_return_documents(std::string_view name, const boost::json::value& value, Draft& draft);

// An array of at least one token id.
Problem read_token_ids(std::string_view param, const boost::json::value& value,
                       std::vector<int32_t>& tokens);

// --- sampling_fields.cc: how tokens are chosen and when an answer ends ---

Problem read_max_tokens(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_max_completion_tokens(std::string_view name, const boost::json::value& value,
                                   Draft& draft);
Problem read_temperature(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_p(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_top_k(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_min_p(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_typical_p(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_presence_penalty(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_frequency_penalty(std::string_view name, const boost::json::value& value,
                               Draft& draft);
Problem read_repetition_penalty(std::string_view name, const boost::json::value& value,
                                Draft& draft);
Problem read_repeat_penalty(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_logit_bias(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_seed(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_stop(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_stop_tokens(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_prompt_logprobs(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_return_token_ids(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_n(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_ignore_eos(std::string_view name, const boost::json::value& value, Draft& draft);

// --- structure_fields.cc: response_format, and the names that vLLM (guided_*, structured_outputs)
// and llama-server (json_schema, grammar) have for parts of it ---

Problem read_response_format(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_structured_outputs(std::string_view name, const boost::json::value& value,
                                Draft& draft);

// A schema, as an object or as its text.
Problem read_schema_field(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_regex_field(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_choice_field(std::string_view name, const boost::json::value& value, Draft& draft);
Problem read_grammar_field(std::string_view name, const boost::json::value& value, Draft& draft);

// "annotate" or "refuse".
Problem read_schema_unknown(std::string_view name, const boost::json::value& value, Draft& draft);

// "definition" or "any": of the arguments of calls.
Problem read_tools_property_order(std::string_view name, const boost::json::value& value,
                                  Draft& draft);

// --- chat_json.cc: the messages and tools of a chat, checked and brought into one form for chat
// templates. Each function returns what is wrong, or nothing and has filled its last argument. ---

// Messages: `content` becomes a string, text parts joined; arguments of tool calls an object or the
// text of one; reasoning `reasoning_content`.
Problem read_messages(std::string_view name, const boost::json::value& value,
                      boost::json::array& messages);

// Tools: checked in what every template and every tool-call format relies on - a type, a name that
// can stand in a call, parameters that are a schema - and for unknown members; passed on unchanged.
Problem read_tools(std::string_view name, const boost::json::value& value,
                   boost::json::array& tools);

// The calls of an assistant message. OpenAI has their arguments as a string of JSON; some templates
// want that and most want the object it holds. Which one a template wants is seen when it runs.
Problem read_tool_calls(std::string_view name, const boost::json::value& value,
                        boost::json::array& calls);

// --- what several fields mean together ---

Problem settle_sampling(Draft& draft);
Problem settle_chat(Draft& draft);
Problem settle_completions(Draft& draft);
Problem settle_structure(Draft& draft);

}  // namespace windrow::llm
