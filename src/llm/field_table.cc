#include "llm/request_fields.h"

#include <array>

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr EndpointSet kChat{Endpoint::kChatCompletions};
constexpr EndpointSet kText{Endpoint::kCompletions};
constexpr EndpointSet kBoth{Endpoint::kChatCompletions, Endpoint::kCompletions};
constexpr EndpointSet kEmbed{Endpoint::kEmbeddings};
constexpr EndpointSet kRank{Endpoint::kRerank};
constexpr EndpointSet kVectors{Endpoint::kEmbeddings, Endpoint::kRerank};
constexpr EndpointSet kTokenised{Endpoint::kCompletions, Endpoint::kEmbeddings, Endpoint::kRerank};
constexpr EndpointSet kAll{Endpoint::kChatCompletions, Endpoint::kCompletions,
                           Endpoint::kEmbeddings, Endpoint::kRerank};

constexpr FieldUse kHonoured = FieldUse::kHonoured;
constexpr FieldUse kWithoutEffect = FieldUse::kWithoutEffect;
constexpr FieldUse kRefused = FieldUse::kRefused;

constexpr std::string_view kInputForms = "a string, strings, token ids, or arrays of token ids";
constexpr std::string_view kOneAnswerText = "an answer is a text";
constexpr std::string_view kTemplateSwitch = "give it in chat_template_kwargs";
constexpr std::string_view kOtherSampler = "this sampler is not built in";
constexpr std::string_view kOfOtherSampler = "anything: its sampler is not built in";
constexpr std::string_view kSharedAnyway = "anything: what prompts have in common is shared anyway";
constexpr std::string_view kThoughtsApart = "thoughts come as reasoning_content";
constexpr std::string_view kIdsApart = "return_token_ids gives them";
constexpr std::string_view kNoCut = "a text that is too long fails; cut it before";
constexpr std::string_view kAsWritten = "texts are taken as they are; write the prefix into them";

Problem read_model(std::string_view name, const json::value& value, Draft& draft) {
  return read_string(value, name, draft.request.model);
}

Problem ignore(std::string_view, const json::value&, Draft&) {
  return std::nullopt;
}

constexpr std::array kFields = std::to_array<Field>({
    {{"model", kHonoured, kAll, "a string", ""}, read_model},

    {{"messages", kHonoured, kChat,
      "an array of {role, content, ...}; content is a string or text parts", ""},
     read_chat_messages},
    {{"prompt_token_ids", kHonoured, kChat,
      "token ids: the prompt, exactly; `messages` is then not rendered and may be absent", ""},
     read_chat_tokens},
    {{"tools", kHonoured, kChat, "an array of {\"type\": \"function\", \"function\": {name, ...}}",
      ""},
     read_chat_tools},
    {{"tool_choice", kHonoured, kChat,
      "\"auto\", \"none\", \"required\" or {\"type\": \"function\", \"function\": {\"name\": ...}}",
      ""},
     read_tool_choice},
    {{"parallel_tool_calls", kHonoured, kChat, "true or false", ""}, read_parallel_tool_calls},
    {{"tools_property_order", kHonoured, kChat,
      "\"definition\" or \"any\": the order of the members of a call's arguments", ""},
     read_tools_property_order},
    {{"chat_template_kwargs", kHonoured, kChat,
      "an object, without what the body or the model has: messages, tools, add_generation_prompt, "
      "bos_token, eos_token",
      ""},
     read_template_arguments},
    {{"reasoning_effort", kHonoured, kChat, kEffortValues, ""}, read_reasoning_effort},
    {{"prompt", kHonoured, kText, kInputForms, ""}, read_prompt},
    {{"echo", kHonoured, kText, "true or false", ""}, read_echo},

    {{"max_tokens", kHonoured, kChat, "1 and more", ""}, read_max_tokens},
    {{"max_tokens", kHonoured, kText, "1 and more; 0 with `echo` or `prompt_logprobs`", ""},
     read_max_tokens},
    {{"max_completion_tokens", kHonoured, kChat, "1 and more", ""}, read_max_completion_tokens},
    {{"max_reasoning_tokens", kHonoured, kChat,
      "0 and more, with `response_format` or a call that has to come", ""},
     read_max_reasoning_tokens},
    {{"n", kHonoured, kBoth, "1 to 128", ""}, read_n},
    {{"stop", kHonoured, kBoth, "a string, or an array of at most 16", ""}, read_stop},
    {{"stop_token_ids", kHonoured, kBoth, "an array of at most 256 token ids", ""},
     read_stop_tokens},
    {{"ignore_eos", kHonoured, kBoth, "true or false", ""}, read_ignore_eos},
    {{"logprobs", kHonoured, kChat, "true or false", ""}, read_logprobs_switch},
    {{"top_logprobs", kHonoured, kChat, "0 to 20, with `logprobs`", ""}, read_top_logprobs},
    {{"logprobs", kHonoured, kText, "0 to 20", ""}, read_logprobs_count},
    {{"prompt_logprobs", kHonoured, kBoth, "0 to 20, without `stream`", ""}, read_prompt_logprobs},
    {{"return_token_ids", kHonoured, kBoth, "true or false", ""}, read_return_token_ids},
    {{"temperature", kHonoured, kBoth, "0 to 2; 0 is greedy", ""}, read_temperature},
    {{"top_k", kHonoured, kBoth, "1 and more; 0 or -1 for all", ""}, read_top_k},
    {{"top_p", kHonoured, kBoth, "above 0, to 1", ""}, read_top_p},
    {{"min_p", kHonoured, kBoth, "0 to 1", ""}, read_min_p},
    {{"typical_p", kHonoured, kBoth, "above 0, to 1", ""}, read_typical_p},
    {{"presence_penalty", kHonoured, kBoth, "-2 to 2", ""}, read_presence_penalty},
    {{"frequency_penalty", kHonoured, kBoth, "-2 to 2", ""}, read_frequency_penalty},
    {{"repetition_penalty", kHonoured, kBoth, "0.01 to 10; 1 is none", ""},
     read_repetition_penalty},
    {{"repeat_penalty", kHonoured, kBoth, "the same under llama-server's name", ""},
     read_repeat_penalty},
    {{"logit_bias", kHonoured, kBoth, "an object of token ids and numbers from -100 to 100", ""},
     read_logit_bias},
    {{"seed", kHonoured, kBoth, "a whole number from -2^63 to 2^64 - 1", ""}, read_seed},
    {{"response_format", kHonoured, kBoth,
      "an object whose `type` is text, json_schema, json_object, regex, grammar or choice", ""},
     read_response_format},
    {{"structured_outputs", kHonoured, kBoth,
      "the same under vLLM's name: json, regex, choice, grammar or json_object", ""},
     read_structured_outputs},
    {{"guided_json", kHonoured, kBoth, "a JSON Schema, or its text", ""}, read_schema_field},
    {{"guided_regex", kHonoured, kBoth, "a regular expression", ""}, read_regex_field},
    {{"guided_choice", kHonoured, kBoth, "an array of strings", ""}, read_choice_field},
    {{"guided_grammar", kHonoured, kBoth, "a grammar in GBNF", ""}, read_grammar_field},
    {{"json_schema", kHonoured, kBoth, "a JSON Schema, or its text; llama-server's name", ""},
     read_schema_field},
    {{"grammar", kHonoured, kBoth, "a grammar in GBNF; llama-server's name", ""},
     read_grammar_field},
    {{"schema_unknown", kHonoured, kBoth,
      "\"annotate\" or \"refuse\": names in a schema that are no keywords, and unknown formats",
      ""},
     read_schema_unknown},

    {{"input", kHonoured, kEmbed, kInputForms, ""}, read_input},
    {{"dimensions", kHonoured, kEmbed, "1 and more", ""}, read_dimensions},
    {{"encoding_format", kHonoured, kEmbed, "\"float\" or \"base64\"", ""}, read_encoding_format},
    {{"query", kHonoured, kRank, "a string", ""}, read_query},
    {{"documents", kHonoured, kRank, "an array of strings or {\"text\": ...}", ""}, read_documents},
    {{"top_n", kHonoured, kRank, "1 and more", ""}, read_top_n},
    {{"return_documents", kHonoured, kRank, "true or false", ""}, read_return_documents},

    {{"user", kWithoutEffect, kAll, "anything", ""}, ignore},
    {{"metadata", kWithoutEffect, kChat, "anything", ""}, ignore},
    {{"store", kWithoutEffect, kChat, "anything", ""}, ignore},
    {{"service_tier", kWithoutEffect, kChat, "anything", ""}, ignore},
    {{"safety_identifier", kWithoutEffect, kChat, "anything", ""}, ignore},
    {{"prompt_cache_key", kWithoutEffect, kChat, "anything", ""}, ignore},
    {{"prompt_cache_retention", kWithoutEffect, kChat, kSharedAnyway, ""}, ignore},
    {{"prompt_cache_options", kWithoutEffect, kChat, kSharedAnyway, ""}, ignore},
    {{"cache_prompt", kWithoutEffect, kBoth, kSharedAnyway, ""}, ignore},
    {{"verbosity", kWithoutEffect, kChat, "anything: ask for it in a message", ""}, ignore},
    {{"keep_alive", kWithoutEffect, kAll,
      "anything: --memory and --keep-loaded say which models stay", ""},
     ignore},
    {{"request_id", kWithoutEffect, kAll, "anything: the header X-Request-Id names a request", ""},
     ignore},
    {{"guided_decoding_backend", kWithoutEffect, kBoth, "anything: there is one", ""}, ignore},
    {{"dynatemp_exponent", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},
    {{"xtc_threshold", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},
    {{"dry_base", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},
    {{"dry_allowed_length", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},
    {{"dry_penalty_last_n", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},
    {{"mirostat_tau", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},
    {{"mirostat_eta", kWithoutEffect, kBoth, kOfOtherSampler, ""}, ignore},

    {{"stream", kRefused, kBoth, "false", "a result is written when it is whole"}},
    {{"stream_options", kRefused, kBoth, "", "a result is written when it is whole"}},
    {{"best_of", kRefused, kText, "the same as `n`",
      "answers are not ranked; ask for several with n"},
     read_best_of},
    {{"best_of", kRefused, kChat, "", "answers are not ranked; ask for several with n"}},
    {{"use_beam_search", kRefused, kBoth, "false", "answers are sampled"}},
    {{"suffix", kRefused, kText, "\"\"", "this version writes only what follows a prompt"}},
    {{"echo", kRefused, kChat, "false", "it belongs to /v1/completions"}},
    {{"format", kRefused, kBoth, "", "give response_format"}},
    {{"guided_whitespace_pattern", kRefused, kBoth, "",
      "give whitespace in response_format: \"compact\" or \"flexible\""}},
    {{"modalities", kRefused, kChat, "[\"text\"]", kOneAnswerText}},
    {{"audio", kRefused, kChat, "", kOneAnswerText}},
    {{"prediction", kRefused, kChat, "", "no answer is predicted from another text"}},
    {{"moderation", kRefused, kChat, "", "nothing is moderated here"}},
    {{"web_search_options", kRefused, kChat, "", "nothing is looked up elsewhere"}},
    {{"functions", kRefused, kChat, "[]", "tools is its successor"}},
    {{"function_call", kRefused, kChat, "\"none\"", "tool_choice is its successor"}},
    {{"enable_thinking", kRefused, kChat, "", kTemplateSwitch}},
    {{"thinking", kRefused, kChat, "", kTemplateSwitch}},
    {{"think", kRefused, kChat, "", kTemplateSwitch}},
    {{"reasoning", kRefused, kChat, "",
      "give reasoning_effort, or what the template knows in chat_template_kwargs"}},
    {{"chat_template", kRefused, kChat, "", "one template is for all requests: --chat-template"}},
    {{"add_generation_prompt", kRefused, kChat, "true", "a chat is always answered"}},
    {{"continue_final_message", kRefused, kChat, "false",
      "write the whole prompt and give it to /v1/completions"}},
    {{"min_tokens", kRefused, kBoth, "0", "ignore_eos goes on to max_tokens"}},
    {{"include_stop_str_in_output", kRefused, kBoth, "false", "an answer ends before the stop"}},
    {{"skip_special_tokens", kRefused, kBoth, "true", "control tokens are no text"}},
    {{"spaces_between_special_tokens", kRefused, kBoth, "true", "control tokens are no text"}},
    {{"add_special_tokens", kRefused, kChat, "false", "the template writes them"}},
    {{"add_special_tokens", kRefused, kTokenised, "true", "they are added as the model has them"}},
    {{"include_reasoning", kRefused, kChat, "true", kThoughtsApart}},
    {{"reasoning_format", kRefused, kChat, "\"auto\"", kThoughtsApart}},
    {{"return_tokens_as_token_ids", kRefused, kBoth, "false", kIdsApart}},
    {{"return_tokens", kRefused, kBoth, "false", kIdsApart}},
    {{"timings_per_token", kRefused, kBoth, "false", "/metrics and the log have the times"}},
    {{"id_slot", kRefused, kBoth, "-1", "rows find their place themselves"}},
    {{"allowed_token_ids", kRefused, kBoth, "", "logit_bias of -100 keeps tokens out"}},
    {{"bad_words", kRefused, kBoth, "[]", "logit_bias of -100 keeps tokens out"}},
    {{"length_penalty", kRefused, kBoth, "1", "it belongs to beam search"}},
    {{"dry_multiplier", kRefused, kBoth, "0", kOtherSampler}},
    {{"xtc_probability", kRefused, kBoth, "0", kOtherSampler}},
    {{"mirostat", kRefused, kBoth, "0", kOtherSampler}},
    {{"dynatemp_range", kRefused, kBoth, "0", kOtherSampler}},
    {{"n_predict", kRefused, kBoth, "", "max_tokens is its name here"}},
    {{"options", kRefused, kAll, "", "give each of them as a field of its own"}},

    {{"encoding_format", kRefused, kRank, "\"float\"", "scores are numbers"}},
    {{"normalize", kRefused, kEmbed, "true", "a vector has length 1"}},
    {{"input_type", kRefused, kVectors, "", kAsWritten}},
    {{"task", kRefused, kVectors, "", kAsWritten}},
    {{"truncate", kRefused, kVectors, "", kNoCut}},
    {{"truncation", kRefused, kVectors, "false", kNoCut}},
    {{"truncate_prompt_tokens", kRefused, kAll, "", kNoCut}},
    {{"max_tokens_per_doc", kRefused, kRank, "", kNoCut}},
    {{"max_chunks_per_doc", kRefused, kRank, "", kNoCut}},
    {{"rank_fields", kRefused, kRank, "", "a document is one text"}},
    {{"texts", kRefused, kRank, "", "documents is its name here"}},
    {{"top_k", kRefused, kRank, "", "top_n is its name here"}},
});

constexpr auto kRules = [] {
  std::array<FieldRule, kFields.size()> rules{};
  for (size_t i = 0; i < rules.size(); ++i)
    rules[i] = kFields[i].rule;
  return rules;
}();

}  // namespace

std::span<const FieldRule> field_rules() {
  return kRules;
}

const Field* find_field(Endpoint endpoint, std::string_view name) {
  for (const Field& field : kFields) {
    if (field.rule.endpoints.contains(endpoint) && field.rule.name == name) return &field;
  }
  return nullptr;
}

}  // namespace windrow::llm
