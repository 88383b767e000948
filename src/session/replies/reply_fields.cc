#include "session/replies/reply_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

#include "json/values.h"

namespace windrow::session {

namespace {

// Members of meta_info that have an element for each token.
constexpr std::string_view kListsOfTokens[] = {"input_token_logprobs",
                                               "output_token_logprobs",
                                               "input_top_logprobs",
                                               "output_top_logprobs",
                                               "input_token_ids_logprobs",
                                               "output_token_ids_logprobs",
                                               "output_token_sampling_mask",
                                               "output_token_sampling_logprobs",
                                               "hidden_states",
                                               "routed_experts",
                                               "indexer_topk"};

// Nothing: it is no token id.
std::optional<int32_t> token_of(const boost::json::value& value) {
  const int64_t* number = value.if_int64();
  if (number == nullptr || *number < 0 || *number != static_cast<int32_t>(*number)) return {};
  return static_cast<int32_t>(*number);
}

std::optional<double> finite_number(const boost::json::value& value) {
  double number = 0;
  if (const double* fraction = value.if_double()) {
    number = *fraction;
  } else if (const int64_t* whole = value.if_int64()) {
    number = static_cast<double>(*whole);
  } else {
    return {};
  }
  if (!std::isfinite(number)) return {};
  return number;
}

std::string no_number(std::string_view name, size_t index, std::string_view what,
                      const boost::json::value& value) {
  constexpr size_t kShown = 60;
  return fmt::format("element {} of {} is not {}: {}", index, name, what,
                     boost::json::serialize(value).substr(0, kShown));
}

}  // namespace

llm::Failure unusable_reply(std::string message) {
  llm::Failure failure;
  failure.failure_class = llm::FailureClass::kTransient;
  failure.status = 502;
  failure.code = "unusable_reply";
  failure.message = std::move(message);
  failure.answered = true;
  return failure;
}

std::string reported_error(const boost::json::object& reply) {
  // {"error": {"message": ...}}, {"error": "..."}, {"object": "error", "message": ...}
  const boost::json::value* error = reply.if_contains("error");
  if (error != nullptr && !error->is_null()) {
    if (const auto* object = error->if_object();
        object != nullptr && !text_in(*object, "message").empty())
      return std::string(text_in(*object, "message"));
    if (const auto* text = error->if_string()) return std::string(text->begin(), text->end());
    return boost::json::serialize(*error);
  }
  if (text_in(reply, "object") != "error") return {};
  const std::string_view message = text_in(reply, "message");
  return message.empty() ? "an error without a message" : std::string(message);
}

const boost::json::object* first_choice(const boost::json::object& reply) {
  const boost::json::value* choices = reply.if_contains("choices");
  const boost::json::array* list = choices == nullptr ? nullptr : choices->if_array();
  return list == nullptr || list->empty() ? nullptr : list->front().if_object();
}

int64_t number_in(const boost::json::object& object, std::string_view name, int64_t otherwise) {
  const boost::json::value* value = object.if_contains(name);
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr ? otherwise : *number;
}

bool read_tokens(const boost::json::array& list, std::string_view name,
                 std::vector<int32_t>& tokens, std::string& wrong) {
  tokens.reserve(tokens.size() + list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int32_t> token = token_of(list[i]);
    if (!token) {
      wrong = no_number(name, i, "a token id", list[i]);
      return false;
    }
    tokens.push_back(*token);
  }
  return true;
}

bool read_logprobs(const boost::json::array& list, std::string_view name,
                   std::vector<double>& logprobs, std::string& wrong) {
  logprobs.reserve(logprobs.size() + list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<double> logprob = finite_number(list[i]);
    if (!logprob) {
      wrong = no_number(name, i, "a log-probability", list[i]);
      return false;
    }
    logprobs.push_back(*logprob);
  }
  return true;
}

bool read_token_logprobs(const boost::json::array& list, std::vector<int32_t>& tokens,
                         std::vector<double>& logprobs, std::string& wrong) {
  tokens.reserve(tokens.size() + list.size());
  logprobs.reserve(logprobs.size() + list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const boost::json::array* pair = list[i].if_array();
    const bool is_pair = pair != nullptr && pair->size() >= 2;
    const std::optional<double> logprob = is_pair ? finite_number((*pair)[0]) : std::nullopt;
    const std::optional<int32_t> token = is_pair ? token_of((*pair)[1]) : std::nullopt;
    if (!logprob || !token) {
      wrong = no_number("output_token_logprobs", i, "[log-probability, token id]", list[i]);
      return false;
    }
    tokens.push_back(*token);
    logprobs.push_back(*logprob);
  }
  return true;
}

TurnFigures sglang_figures(const boost::json::object& meta_info) {
  TurnFigures figures;
  figures.prompt_tokens = number_in(meta_info, "prompt_tokens");
  figures.cached_tokens = number_in(meta_info, "cached_tokens");
  figures.weight_version = std::string(text_in(meta_info, "weight_version"));
  // The first name of each is that of later versions.
  figures.spec_accepted = number_in(meta_info, "spec_num_correct_drafts",
                                    number_in(meta_info, "spec_accept_token_num"));
  figures.spec_drafted = number_in(meta_info, "spec_num_proposed_drafts",
                                   number_in(meta_info, "spec_draft_token_num"));
  figures.spec_passes = number_in(meta_info, "spec_verify_ct");
  if (const boost::json::value* latency = meta_info.if_contains("e2e_latency"))
    figures.latency_s = finite_number(*latency);
  figures.indexer_layers = std::max<int64_t>(number_in(meta_info, "indexer_topk_num_layers"), 0);
  return figures;
}

void erase_token_lists(boost::json::object& meta_info) {
  for (const std::string_view name : kListsOfTokens) {
    if (auto* member = meta_info.find(name); member != meta_info.end())
      meta_info.stable_erase(member);
  }
}

}  // namespace windrow::session
