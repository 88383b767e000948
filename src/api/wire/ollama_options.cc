#include "api/wire/ollama_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>

#include "api/wire/object_reader.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::FieldUse;
using llm::Problem;

constexpr std::string_view kAtStart = "anything: it is set where the server is started";

constexpr auto kOptions = std::to_array<OllamaOption>({
    {"num_predict", FieldUse::kHonoured, "1 and more, or below 0 for the server's default",
     "max_tokens"},
    {"temperature", FieldUse::kHonoured, "0 to 2; 0 is greedy", "temperature"},
    {"top_p", FieldUse::kHonoured, "above 0, to 1", "top_p"},
    {"top_k", FieldUse::kHonoured, "1 and more; 0 or -1 for all", "top_k"},
    {"min_p", FieldUse::kHonoured, "0 to 1", "min_p"},
    {"seed", FieldUse::kHonoured, "a whole number; -1 for chance", "seed"},
    {"stop", FieldUse::kHonoured, "a string, or an array of at most 16", "stop"},
    {"repeat_penalty", FieldUse::kHonoured, "as `repetition_penalty` of a chat",
     "repetition_penalty"},
    {"presence_penalty", FieldUse::kHonoured, "-2 to 2", "presence_penalty"},
    {"frequency_penalty", FieldUse::kHonoured, "-2 to 2", "frequency_penalty"},
    {"repeat_last_n", FieldUse::kWithoutEffect, "anything: penalties count all tokens", ""},
    {"penalize_newline", FieldUse::kWithoutEffect, "anything: it is a token like others", ""},
    {"mirostat_tau", FieldUse::kWithoutEffect, "anything: it is for `mirostat`", ""},
    {"mirostat_eta", FieldUse::kWithoutEffect, "anything: it is for `mirostat`", ""},
    {"num_ctx", FieldUse::kWithoutEffect, "anything: `--ctx` sets it", ""},
    {"num_keep", FieldUse::kWithoutEffect, "anything: what is too long fails", ""},
    {"num_batch", FieldUse::kWithoutEffect, kAtStart, ""},
    {"num_gpu", FieldUse::kWithoutEffect, kAtStart, ""},
    {"main_gpu", FieldUse::kWithoutEffect, kAtStart, ""},
    {"num_thread", FieldUse::kWithoutEffect, kAtStart, ""},
    {"numa", FieldUse::kWithoutEffect, kAtStart, ""},
    {"low_vram", FieldUse::kWithoutEffect, kAtStart, ""},
    {"f16_kv", FieldUse::kWithoutEffect, kAtStart, ""},
    {"use_mmap", FieldUse::kWithoutEffect, kAtStart, ""},
    {"use_mlock", FieldUse::kWithoutEffect, kAtStart, ""},
    {"logits_all", FieldUse::kWithoutEffect, kAtStart, ""},
    {"vocab_only", FieldUse::kWithoutEffect, kAtStart, ""},
    {"embedding_only", FieldUse::kWithoutEffect, kAtStart, ""},
    {"mirostat", FieldUse::kRefused, "0", ""},
    {"typical_p", FieldUse::kRefused, "1", ""},
    {"tfs_z", FieldUse::kRefused, "1", ""},
});

// Ollama's way to say that nothing is asked for.
bool says_default(const OllamaOption& option, const json::value& value) {
  if (option.name == "stop") return value.is_array() && value.get_array().empty();
  if (option.name != "num_predict" && option.name != "seed") return false;
  return value.is_int64() && value.get_int64() < 0;
}

Problem read_option(const std::string& place, const OllamaOption& option, const json::value& value,
                    TranslationDraft& draft) {
  if (option.use == FieldUse::kRefused) {
    const bool neutral = value.is_number() && value.to_number<double>() ==
                                                  json::parse(option.values).to_number<double>();
    if (neutral) return std::nullopt;
    return llm::unsupported(place, fmt::format("{} must be {}, or absent: answers are not drawn "
                                               "that way here",
                                               place, option.values));
  }
  if (option.use == FieldUse::kHonoured && !says_default(option, value))
    pass_as(option.made, place, value, draft);
  return std::nullopt;
}

}  // namespace

Problem read_ollama_options(std::string_view name, const json::value& value,
                            TranslationDraft& draft) {
  const json::object* object = nullptr;
  if (Problem problem = read_object(value, name, "an object, such as {\"temperature\": 0}", object))
    return problem;
  ObjectReader options(std::string(name), *object);
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

std::span<const OllamaOption> ollama_options() {
  return kOptions;
}

}  // namespace windrow::api
