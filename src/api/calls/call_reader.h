// CallReader: the body of a request -> what is offered to a dispatcher. Pure, but for the catalogue
// it looks models up in; any thread.
//
// A body means what it means in `windrow run`: the same defaults are laid under it, the same code
// reads it. Beside that only the envelope is read (envelope.h), and the form of TEI's own /rerank;
// a body of another dialect is translated before (wire/translation.h), and what is wrong with
// it is said in its own words.
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
#include "api/storage/stored_response.h"
#include "api/wire/dialect.h"
#include "api/wire/origins.h"
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
  Duration load_wait{};  // how long one may wait for a model that is to be loaded; 0: for ever
  uint64_t body_bytes_max = 0;  // of a body that came packed, when it is unpacked
};

// What came, and what is known of who sent it.
struct CallInput {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;  // the body of another one decides the endpoint
  std::string body;
  bool gzip = false;      // it is packed
  http::Headers headers;  // those that open_envelope reads
  std::string key;        // the name of its key; empty: none
  dispatch::Priority priority_max = dispatch::Priority::kInteractive;
  int32_t weight = 1;
  TimePoint arrived_at{};
  uint64_t chance = 0;
  std::string call_id;       // with its prefix
  bool may_be_tei = false;   // it came to /rerank
  bool unit_scores = false;  // it came to /v2/rerank: scores from 0 to 1
  bool is_admin = false;     // it may have models unloaded
  bool counts_only = false;  // its tokens are to be counted, and nothing answered
};

struct CallPlan {
  const ServedModel* model = nullptr;
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;  // what the request is one of
  ModelWish wish = ModelWish::kAnswer;                       // else `request` is empty
  bool unloads_after = false;                                // as Translation::unloads_after
  Envelope envelope;
  llm::Request request;
  std::shared_ptr<llm::LoadWait> load_wait;  // null: the model is always loaded
  dispatch::WorkItem item;
  std::string model_name;                   // as the reply says it
  int32_t ignored_tokens = 0;               // in logit_bias, that the model's vocabulary lacks
  std::vector<std::string> ignored_fields;  // of the body, that are not known

  // TEI's form of /rerank: an array is wanted.
  bool tei = false;
  bool raw_scores = false;

  // Of another dialect: whose words the request's are, and ChatFacts::echo.
  Origins origins;
  std::string echo;
  bool lists_logprobs = false;

  // Of a response that is to be kept: what is known of it before its answer.
  std::optional<StoredResponse> kept;
};

// Of a lane of this key's; 0: `lane` is empty.
uint64_t lane_id(std::string_view key, std::string_view lane);

// `earlier`: what a body of /v1/responses may refer to; nullptr: nothing.
std::variant<CallPlan, llm::Failure> read_call(const CallInput& input, const CallRules& rules,
                                               const ModelRegistry& catalogue,
                                               const EarlierItems* earlier = nullptr);

}  // namespace windrow::api
