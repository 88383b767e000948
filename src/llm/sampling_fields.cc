#include "llm/request_fields.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr size_t kStopsMax = 16;
constexpr size_t kStopTokensMax = 256;
constexpr int32_t kAnswerCountMax = 128;
constexpr double kPenaltyMax = 2;
constexpr double kRepetitionMin = 0.01;  // logits are divided by it
constexpr double kRepetitionMax = 10;
constexpr double kBiasMax = 100;

// A share of the probability: with 0 there would be no token to choose.
Problem read_share(std::string_view name, const json::value& value, float& target) {
  float share = 0;
  if (Problem problem = read_float(value, name, 0, 1, share)) return problem;
  if (share <= 0) {
    return bad_value(
        name, fmt::format("{} is 0; it must be above 0 (use temperature 0 for greedy)", name));
  }
  target = share;
  return std::nullopt;
}

// The id in a key of logit_bias. Ids are whole numbers; which of them a model has is not known
// here.
enum class Id : uint8_t { kToken, kBeyondAnyVocabulary, kNone };

Id id_of(std::string_view key, int32_t& token) {
  const bool digit = !key.empty() && key[0] >= '0' && key[0] <= '9';
  if (!digit || (key[0] == '0' && key.size() > 1)) return Id::kNone;
  const char* end = key.data() + key.size();
  const auto [rest, error] = std::from_chars(key.data(), end, token);
  if (rest != end) return Id::kNone;
  return error == std::errc{} ? Id::kToken : Id::kBeyondAnyVocabulary;
}

}  // namespace

Problem read_max_tokens(std::string_view name, const json::value& value, Draft& draft) {
  // Only a scored prompt may have an answer without tokens; settle_completions looks for that.
  const int32_t min = draft.request.endpoint == Endpoint::kCompletions ? 0 : 1;
  return read_int32(value, name, min, kIntegerMax, draft.max_tokens.emplace());
}

Problem read_max_completion_tokens(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 1, kIntegerMax, draft.max_completion_tokens.emplace());
}

Problem read_temperature(std::string_view name, const json::value& value, Draft& draft) {
  return read_float(value, name, 0, 2, draft.request.sampling.temperature);
}

Problem read_top_p(std::string_view name, const json::value& value, Draft& draft) {
  return read_share(name, value, draft.request.sampling.top_p);
}

Problem read_top_k(std::string_view name, const json::value& value, Draft& draft) {
  int32_t& top_k = draft.request.sampling.top_k;
  if (Problem problem = read_int32(value, name, -1, kIntegerMax, top_k)) return problem;
  if (top_k < 0) top_k = 0;  // vLLM says all by -1
  return std::nullopt;
}

Problem read_min_p(std::string_view name, const json::value& value, Draft& draft) {
  return read_float(value, name, 0, 1, draft.request.sampling.min_p);
}

Problem read_typical_p(std::string_view name, const json::value& value, Draft& draft) {
  return read_share(name, value, draft.request.sampling.typical_p);
}

Problem read_presence_penalty(std::string_view name, const json::value& value, Draft& draft) {
  return read_float(value, name, -kPenaltyMax, kPenaltyMax,
                    draft.request.sampling.presence_penalty);
}

Problem read_frequency_penalty(std::string_view name, const json::value& value, Draft& draft) {
  return read_float(value, name, -kPenaltyMax, kPenaltyMax,
                    draft.request.sampling.frequency_penalty);
}

Problem read_repetition_penalty(std::string_view name, const json::value& value, Draft& draft) {
  return read_float(value, name, kRepetitionMin, kRepetitionMax,
                    draft.repetition_penalty.emplace());
}

Problem read_repeat_penalty(std::string_view name, const json::value& value, Draft& draft) {
  return read_float(value, name, kRepetitionMin, kRepetitionMax, draft.repeat_penalty.emplace());
}

Problem read_logit_bias(std::string_view name, const json::value& value, Draft& draft) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return wrong_kind(name, "an object of token ids and numbers, such as {\"1234\": -100}", value);
  }
  for (const auto& [key, bias] : *object) {
    LogitBias one;
    const Id id = id_of(key, one.token);
    if (id == Id::kNone) {
      return bad_value(name, fmt::format("{} has the key \"{}\"; a key must be a token id, such as "
                                         "\"1234\"",
                                         name, shown(key)));
    }
    const std::string place = fmt::format("{}[\"{}\"]", name, shown(key));
    if (Problem problem = read_float(bias, place, -kBiasMax, kBiasMax, one.bias)) return problem;
    if (id == Id::kToken) draft.request.sampling.logit_bias.push_back(one);
  }
  return std::nullopt;
}

Problem read_seed(std::string_view name, const json::value& value, Draft& draft) {
  return read_bits64(value, name, draft.request.sampling.seed);
}

Problem read_stop(std::string_view name, const json::value& value, Draft& draft) {
  const auto take = [&](const json::value& one) -> Problem {
    if (!one.is_string() || one.get_string().empty()) {
      return bad_value(
          name, fmt::format("{} must be a string that is not empty, or an array of such", name));
    }
    draft.request.stop.emplace_back(one.get_string());
    return std::nullopt;
  };
  const json::array* several = value.if_array();
  if (several == nullptr) return take(value);
  if (several->size() > kStopsMax) {
    return bad_value(name, fmt::format("{} has {} texts; at most {} are accepted", name,
                                       several->size(), kStopsMax));
  }
  for (const json::value& one : *several) {
    if (Problem problem = take(one)) return problem;
  }
  return std::nullopt;
}

Problem read_stop_tokens(std::string_view name, const json::value& value, Draft& draft) {
  const json::array* ids = value.if_array();
  if (ids == nullptr) return wrong_kind(name, "an array of token ids", value);
  if (ids->empty()) return std::nullopt;
  if (ids->size() > kStopTokensMax) {
    return bad_value(name, fmt::format("{} has {} token ids; at most {} are accepted", name,
                                       ids->size(), kStopTokensMax));
  }
  return read_token_ids(name, value, draft.request.stop_tokens);
}

Problem read_prompt_logprobs(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 0, kTopLogprobsMax, draft.request.prompt_logprobs_top.emplace());
}

Problem read_return_token_ids(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.request.return_token_ids);
}

Problem read_n(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 1, kAnswerCountMax, draft.request.choices);
}

Problem read_ignore_eos(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.request.ignore_eos);
}

Problem settle_sampling(Draft& draft) {
  if (draft.max_tokens && draft.max_completion_tokens &&
      *draft.max_tokens != *draft.max_completion_tokens) {
    return bad_value("max_completion_tokens",
                     fmt::format("max_tokens is {} and max_completion_tokens is {}; give one of "
                                 "them",
                                 *draft.max_tokens, *draft.max_completion_tokens));
  }
  draft.request.output_tokens_max =
      draft.max_completion_tokens ? draft.max_completion_tokens : draft.max_tokens;

  if (draft.repetition_penalty && draft.repeat_penalty &&
      *draft.repetition_penalty != *draft.repeat_penalty) {
    return bad_value("repeat_penalty",
                     fmt::format("repetition_penalty is {} and repeat_penalty, another name of it, "
                                 "is {}; give one of them",
                                 *draft.repetition_penalty, *draft.repeat_penalty));
  }
  draft.request.sampling.repetition_penalty =
      draft.repetition_penalty.value_or(draft.repeat_penalty.value_or(1.0F));
  return std::nullopt;
}

}  // namespace windrow::llm
