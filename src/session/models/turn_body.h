// TurnBody: a turn as the request that is sent for it: a Request of the engine, or the body that a
// server elsewhere is sent. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "llm/answer.h"
#include "llm/body_reader.h"
#include "llm/request.h"
#include "session/models/session_models.h"

namespace windrow::session {

struct TurnBodyRules {
  llm::BodyRules body;  // how fields are read; not for kSglangChat, which takes any
  int64_t output_tokens_default = 4096;  // of an answer whose request has no limit, elsewhere
  bool streams = false;
};

struct TurnBody {
  std::string text;          // of a server elsewhere: JSON, with the prompt's tokens
  std::string target;        // and its path
  llm::Request request;      // of the engine: the whole; of others: what of the body was read
  boost::json::object sent;  // what was asked, without messages and tokens, for records
};

// Failures are those of llm::read_body, and 400 `unsupported_by_model` for what servers that are
// asked by tokens cannot enforce (a call that has to be made, a grammar). The members that ask for
// log-probabilities and rows are always set here, whatever the client's body says of them.
std::variant<TurnBody, llm::Failure> make_turn_body(const SessionModel& model,
                                                    const TurnQuestion& question,
                                                    const TurnBodyRules& rules);

}  // namespace windrow::session
