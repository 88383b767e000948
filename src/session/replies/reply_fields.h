// What readers of all kinds of servers need: members of replies, with clear errors. Pure; any
// thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "session/history/turn.h"

namespace windrow::session {

// 502 `unusable_reply`; a retry may help.
llm::Failure unusable_reply(std::string message);

// What the server says where it reports an error within a reply of status 200; empty: it does not.
std::string reported_error(const boost::json::object& reply);

// The first element of `choices`; null where there is none, or it is no object.
const boost::json::object* first_choice(const boost::json::object& reply);

// The member, or `otherwise` where it is no whole number.
int64_t number_in(const boost::json::object& object, std::string_view name, int64_t otherwise = 0);

// A list of token ids. Appends them to `tokens`. False: `wrong` says which element is none.
bool read_tokens(const boost::json::array& list, std::string_view name,
                 std::vector<int32_t>& tokens, std::string& wrong);

// A list of log-probabilities, likewise.
bool read_logprobs(const boost::json::array& list, std::string_view name,
                   std::vector<double>& logprobs, std::string& wrong);

// SGLang's list of [log-probability, token id, ...] of each token, likewise.
bool read_token_logprobs(const boost::json::array& list, std::vector<int32_t>& tokens,
                         std::vector<double>& logprobs, std::string& wrong);

// The figures of SGLang's meta_info.
TurnFigures sglang_figures(const boost::json::object& meta_info);

// Removes the members of SGLang's meta_info that have an element for each token: what is to be kept
// of them is read already, and the others grow with the conversation.
void erase_token_lists(boost::json::object& meta_info);

}  // namespace windrow::session
