// CallReader: turns the body of a request into what is offered to a dispatcher. Pure, except that
// it looks models up in the registry; any thread.
//
// A body means the same as in `windrow run`: the same defaults apply, and llm::read_body() reads
// both. Besides, this reads the envelope (envelope.h) and the form of TEI's /rerank. A body of
// another dialect is translated first (wire/translation.h), and errors use the names of that
// dialect.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/calls/envelope.h"
#include "api/calls/model_registry.h"
#include "api/storage/response_store.h"
#include "api/wire/dialect.h"
#include "api/wire/translation.h"
#include "dispatch/work_item.h"
#include "http/headers.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/body_reader.h"
#include "llm/request.h"

namespace windrow::api {

struct CallRules {
  llm::BodyRules body;
  bool coalesce = true;
  Duration load_wait{};         // how long a request may wait for its model's load; 0: no limit
  uint64_t body_bytes_max = 0;  // of a compressed body, unpacked
};

// A request as it arrived, and what its API key allows.
struct CallInput {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;  // of another dialect the body decides the endpoint
  std::string body;
  bool gzip = false;      // the body is compressed
  http::Headers headers;  // those that open_envelope() reads
  std::string key;        // the name of the API key; empty: none
  dispatch::Priority priority_max = dispatch::Priority::kInteractive;
  int32_t weight = 1;
  TimePoint arrived_at{};
  uint64_t chance = 0;       // seeds a request that brings no seed
  std::string call_id;       // with its prefix
  bool may_be_tei = false;   // sent to /rerank
  bool unit_scores = false;  // sent to /v2/rerank: scores from 0 to 1
  bool is_admin = false;     // may unload models
  bool counts_only = false;  // only counts the prompt's tokens
};

struct CallPlan {
  const ServedModel* model = nullptr;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;  // of the request
  ModelAction action = ModelAction::kAnswer;                 // else `request` is empty
  bool unloads_after = false;                                // as Translation::unloads_after
  Envelope envelope;
  llm::Request request;
  std::shared_ptr<llm::LoadWait> load_wait;  // null: the model is always loaded
  dispatch::WorkItem item;
  std::string model_name;                   // as in the reply
  int32_t ignored_tokens = 0;               // of logit_bias, not in the model's vocabulary
  std::vector<std::string> ignored_fields;  // unknown fields of the body

  // TEI's form of /rerank, whose reply is an array.
  bool tei = false;
  bool raw_scores = false;

  // Other dialects: where the parts of the request stood in the body, and ReplyFacts::echo.
  Origins origins;
  std::string echo;
  bool lists_logprobs = false;

  // A response that is to be stored, without its answer.
  std::optional<StoredResponse> kept;
};

// The id of a key's lane; 0 if `lane` is empty.
uint64_t lane_id(std::string_view key, std::string_view lane);

// A body that has to be a JSON object.
std::variant<boost::json::object, llm::Failure> parse_body(std::string_view body);

// The model that a body names, else the one that answers for unknown names, else the only one that
// has `endpoint`. A failure, 404, for a model that is not served, and 400 for a name that is none.
std::variant<const ServedModel*, llm::Failure> find_model(llm::Endpoint endpoint, Dialect dialect,
                                                          const boost::json::object& body,
                                                          const ModelRegistry& registry);

// A failure names the field at fault, in the names of the client's dialect: 400, or 404 for a model
// that is not served. `earlier`: what a body of /v1/responses may refer to; null: nothing.
std::variant<CallPlan, llm::Failure> read_call(const CallInput& input, const CallRules& rules,
                                               const ModelRegistry& registry,
                                               const EarlierItems* earlier = nullptr);

}  // namespace windrow::api
