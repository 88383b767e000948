// The fields of Ollama's /api/chat, /api/generate, /api/embed and /api/embeddings.
#include <fmt/format.h>

#include <array>
#include <boost/json/parse.hpp>
#include <string>
#include <utility>

#include "api/wire/body_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using enum llm::FieldUse;
using llm::Problem;
using llm::shown;

// --- the object `options` ---------------------------------------------------------------------

constexpr std::string_view kAtStart = "anything: it is set where the server is started";

constexpr auto kOptions = std::to_array<OllamaOption>({
    {"num_predict", kHonoured, "1 and more, or below 0 for the server's default", "max_tokens"},
    {"temperature", kHonoured, "0 to 2; 0 is greedy", "temperature"},
    {"top_p", kHonoured, "above 0, to 1", "top_p"},
    {"top_k", kHonoured, "1 and more; 0 or -1 for all", "top_k"},
    {"min_p", kHonoured, "0 to 1", "min_p"},
    {"seed", kHonoured, "a whole number; -1 for chance", "seed"},
    {"stop", kHonoured, "a string, or an array of at most 16", "stop"},
    {"repeat_penalty", kHonoured, "as `repetition_penalty` of a chat", "repetition_penalty"},
    {"presence_penalty", kHonoured, "-2 to 2", "presence_penalty"},
    {"frequency_penalty", kHonoured, "-2 to 2", "frequency_penalty"},
    {"repeat_last_n", kWithoutEffect, "anything: penalties count all tokens", ""},
    {"penalize_newline", kWithoutEffect, "anything: it is a token like others", ""},
    {"mirostat_tau", kWithoutEffect, "anything: it is for `mirostat`", ""},
    {"mirostat_eta", kWithoutEffect, "anything: it is for `mirostat`", ""},
    {"num_ctx", kWithoutEffect, "anything: `--ctx` sets it", ""},
    {"num_keep", kWithoutEffect, "anything: what is too long fails", ""},
    {"num_batch", kWithoutEffect, kAtStart, ""},
    {"num_gpu", kWithoutEffect, kAtStart, ""},
    {"main_gpu", kWithoutEffect, kAtStart, ""},
    {"num_thread", kWithoutEffect, kAtStart, ""},
    {"numa", kWithoutEffect, kAtStart, ""},
    {"low_vram", kWithoutEffect, kAtStart, ""},
    {"f16_kv", kWithoutEffect, kAtStart, ""},
    {"use_mmap", kWithoutEffect, kAtStart, ""},
    {"use_mlock", kWithoutEffect, kAtStart, ""},
    {"logits_all", kWithoutEffect, kAtStart, ""},
    {"vocab_only", kWithoutEffect, kAtStart, ""},
    {"embedding_only", kWithoutEffect, kAtStart, ""},
    {"mirostat", kRefused, "0", ""},
    {"typical_p", kRefused, "1", ""},
    {"tfs_z", kRefused, "1", ""},
});

// Ollama's notation for the default.
bool says_default(const OllamaOption& option, const json::value& value) {
  if (option.name == "stop") return value.is_array() && value.get_array().empty();
  if (option.name != "num_predict" && option.name != "seed") return false;
  return value.is_int64() && value.get_int64() < 0;
}

Problem read_option(const std::string& place, const OllamaOption& option, const json::value& value,
                    TranslationDraft& draft) {
  if (option.use == kRefused) {
    const bool neutral = value.is_number() && value.to_number<double>() ==
                                                  json::parse(option.values).to_number<double>();
    if (neutral) return std::nullopt;
    return llm::unsupported(place, fmt::format("{} must be {}, or absent: answers are not drawn "
                                               "that way here",
                                               place, option.values));
  }
  if (option.use == kHonoured && !says_default(option, value))
    pass_as(option.made, place, value, draft);
  return std::nullopt;
}

Problem read_ollama_options(std::string_view name, const json::value& value,
                            TranslationDraft& draft) {
  ObjectReader options;
  if (Problem problem = options.open(value, name, "an object, such as {\"temperature\": 0}"))
    return problem;
  for (const OllamaOption& option : kOptions) {
    const json::value* given = options.take(option.name);
    if (given == nullptr) continue;
    if (Problem problem = read_option(options.place(option.name), option, *given, draft))
      return problem;
  }
  return options.rest(
      "options has num_predict, temperature, top_p, top_k, min_p, seed, stop and "
      "others that docs/api.md lists");
}

// --- fields ------------------------------------------------------------------------------------

Problem read_ollama_system(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  std::string text;
  if (Problem problem = llm::read_string(value, name, text)) return problem;
  if (!text.empty()) draft.add_message({{"role", "system"}, {"content", text}}, name);
  return std::nullopt;
}

Problem read_raw_switch(std::string_view name, const json::value& value, TranslationDraft& draft) {
  bool raw = false;
  if (Problem problem = llm::read_bool(value, name, raw)) return problem;
  if (raw) draft.made.endpoint = llm::Endpoint::kCompletions;
  return std::nullopt;
}

Problem read_ollama_prompt(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  std::string text;
  if (Problem problem = llm::read_string(value, name, text)) return problem;
  if (text.empty()) return std::nullopt;
  draft.has_prompt = true;
  if (draft.made.endpoint == llm::Endpoint::kCompletions) return pass_on(name, value, draft);
  draft.made.origins.add("messages", std::string(name));
  draft.add_message({{"role", "user"}, {"content", text}}, name);
  return std::nullopt;
}

Problem read_ollama_turns(std::string_view name, const json::value& value,
                          TranslationDraft& draft) {
  if (Problem problem = read_ollama_messages(name, value, draft)) return problem;
  draft.has_prompt = !draft.messages.empty();
  return std::nullopt;
}

// /api/embeddings embeds one text.
Problem read_text_to_embed(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  std::string text;
  if (Problem problem = llm::read_string(value, name, text)) return problem;
  pass_as("input", name, value, draft);
  return std::nullopt;
}

// The value is "json" or a JSON Schema.
Problem read_ollama_format(std::string_view name, const json::value& value,
                           TranslationDraft& draft) {
  if (value == "") return std::nullopt;
  draft.made.origins.add("response_format", std::string(name));
  if (value == "json") {
    draft.made.chat["response_format"] = {{"type", "json_object"}};
    return std::nullopt;
  }
  if (!value.is_object())
    return llm::bad_value(name, fmt::format("{} must be \"json\" or a JSON Schema", name));
  draft.made.origins.add("response_format.json_schema.schema", std::string(name));
  draft.made.chat["response_format"] = {{"type", "json_schema"},
                                        {"json_schema", {{"name", "answer"}, {"schema", value}}}};
  return std::nullopt;
}

Problem read_ollama_tools(std::string_view name, const json::value& value,
                          TranslationDraft& draft) {
  const bool none = value.is_array() && value.get_array().empty();
  return none ? std::nullopt : pass_on(name, value, draft);
}

// The value is a switch or an effort.
Problem read_think(std::string_view name, const json::value& value, TranslationDraft& draft) {
  if (value.is_bool()) {
    draft.made.wishes["enable_thinking"] = value;
    return std::nullopt;
  }
  if (!value.is_string())
    return llm::wrong_kind(name, "true, false, \"low\", \"medium\" or \"high\"", value);
  draft.made.wishes["enable_thinking"] = true;
  return wish_effort(name, value, draft);
}

// A number of seconds, or a text such as "5m"; it only matters whether it is 0.
Problem read_keep_alive(std::string_view name, const json::value& value, TranslationDraft& draft) {
  if (value.is_number()) {
    draft.unloads = value.to_number<double>() == 0;
    return std::nullopt;
  }
  std::string text;
  if (Problem problem = llm::read_string(value, name, text)) return problem;
  draft.unloads = text.find_first_of("0123456789") != std::string::npos &&
                  text.find_first_of("123456789") == std::string::npos;
  return std::nullopt;
}

Problem read_ollama_logprobs(std::string_view name, const json::value& value,
                             TranslationDraft& draft) {
  bool wanted = false;
  if (Problem problem = llm::read_bool(value, name, wanted)) return problem;
  if (wanted && draft.made.endpoint == llm::Endpoint::kCompletions) {
    return llm::unsupported(
        name, fmt::format("{} are not supported with raw; ask /v1/completions", name));
  }
  draft.lists_logprobs = wanted;
  return wanted ? pass_on(name, value, draft) : std::nullopt;
}

Problem read_ollama_top(std::string_view name, const json::value& value, TranslationDraft& draft) {
  return draft.lists_logprobs ? pass_on(name, value, draft) : std::nullopt;
}

Problem ignore_switch(std::string_view name, const json::value& value, TranslationDraft&) {
  bool any = false;
  return llm::read_bool(value, name, any);
}

// --- rows that several of them have ---

constexpr TranslatedField kModel{
    {"model", kHonoured, "a string; a tag \":latest\" may be left out", ""}, pass_on};
constexpr TranslatedField kStream{{"stream", kHonoured, "true, which it is, or false", ""},
                                  pass_on};
constexpr TranslatedField kFormat{{"format", kHonoured, "\"json\", or a JSON Schema", ""},
                                  read_ollama_format};
constexpr TranslatedField kThink{{"think", kHonoured,
                                  "true, false or an effort: `enable_thinking` and "
                                  "`reasoning_effort` where the model's template "
                                  "knows them, else without effect",
                                  ""},
                                 read_think};
constexpr TranslatedField kOptionsField{{"options", kHonoured, "an object; below", ""},
                                        read_ollama_options};
constexpr TranslatedField kLogprobs{{"logprobs", kHonoured, "true or false", ""},
                                    read_ollama_logprobs};
constexpr TranslatedField kTop{{"top_logprobs", kHonoured, "0 to 20, with logprobs", ""},
                               read_ollama_top};
constexpr TranslatedField kKeepAlive{{"keep_alive", kHonoured,
                                      "0 unloads the model: after the answer, when nobody else "
                                      "uses it; else without effect: a model "
                                      "stays until its memory is needed",
                                      ""},
                                     read_keep_alive};
constexpr TranslatedField kTruncate{
    {"truncate", kWithoutEffect, "true or false: what is too long fails", ""}, ignore_switch};
constexpr TranslatedField kShift{
    {"shift", kWithoutEffect, "true or false: an answer ends where the context does", ""},
    ignore_switch};
constexpr TranslatedField kNoOptions{{"options", kWithoutEffect, "anything: nothing is drawn", ""},
                                     ignore_field};

constexpr auto kChatFields = std::to_array<TranslatedField>({
    kModel,
    {{"messages", kHonoured,
      "an array of {role, content}; of an assistant `thinking` and `tool_calls`, of a tool "
      "`tool_name` or `tool_call_id`; without any, the model is loaded",
      ""},
     read_ollama_turns},
    kStream,
    {{"tools", kHonoured, kAsOfChat, ""}, read_ollama_tools},
    kFormat,
    kThink,
    kOptionsField,
    kLogprobs,
    kTop,
    kKeepAlive,
    kTruncate,
    kShift,
});

constexpr auto kGenerateFields = std::to_array<TranslatedField>({
    kModel,
    {{"raw", kHonoured, "true: the prompt as it is; else it is a chat's message", ""},
     read_raw_switch},
    {{"system", kHonoured, "a string; not with raw", ""}, read_ollama_system},
    {{"prompt", kHonoured, "a string; without it, the model is loaded", ""}, read_ollama_prompt},
    kStream,
    kFormat,
    kThink,
    kOptionsField,
    kLogprobs,
    kTop,
    kKeepAlive,
    kTruncate,
    kShift,
    {{"suffix", kRefused, "\"\"",
      "nothing is filled in between; ask with raw in the model's form"}},
    {{"template", kRefused, "\"\"", "`--chat-template` sets it; or ask with raw"}},
    {{"context", kRefused, "[]", "no state is kept; ask /api/chat with all messages"}},
    {{"images", kRefused, "[]", "models here read only texts"}},
});

constexpr auto kEmbedFields = std::to_array<TranslatedField>({
    kModel,
    {{"input", kHonoured, "a string, or an array of strings", ""}, pass_on},
    {{"dimensions", kHonoured, "1 and more", ""}, pass_on},
    kTruncate,
    kKeepAlive,
    kNoOptions,
});

constexpr auto kEmbeddingsFields = std::to_array<TranslatedField>({
    kModel,
    {{"prompt", kHonoured, "a string", ""}, read_text_to_embed},
    kKeepAlive,
    kNoOptions,
});

// A request without a prompt loads or unloads the model.
void wish_of_model(TranslationDraft& draft) {
  json::object named;
  if (const json::value* model = draft.made.chat.if_contains("model")) named["model"] = *model;
  draft.made.chat = std::move(named);
  draft.messages.clear();
  draft.made.action = draft.unloads ? ModelAction::kUnload : ModelAction::kLoad;
}

Problem settle_embedding(Dialect dialect, const json::object& body, TranslationDraft& draft) {
  const std::string_view name = dialect == Dialect::kOllamaEmbed ? "input" : "prompt";
  const json::value* text = body.if_contains(name);
  if (text == nullptr || text->is_null()) {
    return llm::missing_parameter(name, fmt::format("the body has no {}, which {} needs", name,
                                                    url_of(llm::Endpoint::kEmbeddings, dialect)));
  }
  draft.made.endpoint = llm::Endpoint::kEmbeddings;
  draft.made.chat["encoding_format"] = "float";
  draft.made.unloads_after = draft.unloads;
  return std::nullopt;
}

}  // namespace

std::span<const TranslatedField> ollama_chat_fields() {
  return kChatFields;
}

std::span<const TranslatedField> ollama_generate_fields() {
  return kGenerateFields;
}

std::span<const TranslatedField> ollama_embed_fields() {
  return kEmbedFields;
}

std::span<const TranslatedField> ollama_embeddings_fields() {
  return kEmbeddingsFields;
}

std::span<const OllamaOption> ollama_options() {
  return kOptions;
}

Problem settle_ollama(Dialect dialect, const json::object& body, TranslationDraft& draft) {
  if (dialect == Dialect::kOllamaEmbed || dialect == Dialect::kOllamaEmbeddings)
    return settle_embedding(dialect, body, draft);
  if (!draft.has_prompt) {
    wish_of_model(draft);
    return std::nullopt;
  }
  draft.made.unloads_after = draft.unloads;
  if (draft.made.endpoint == llm::Endpoint::kCompletions) {
    if (!draft.messages.empty()) {
      return llm::bad_value("system",
                            "system is given with raw, which takes the prompt as it is; write it "
                            "into the prompt");
    }
    draft.made.wishes.clear();
  }
  draft.made.chat.emplace("stream", true);
  return std::nullopt;
}

}  // namespace windrow::api
