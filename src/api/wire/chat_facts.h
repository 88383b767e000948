// ChatFacts: the facts of a call from which its answer in another API's shape is made.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace windrow::api {

struct ChatFacts {
  std::string id;  // without a prefix
  std::string request_id;
  std::string model;
  int64_t created_unix_s = 0;
  std::string service_tier;  // empty: none
  bool logprobs = false;     // kResponses: they are listed

  // Ollama's: what says how long the answer took.
  const Clock* clock = nullptr;
  TimePoint arrived_at{};

  // kResponses: what of the request the answer repeats, as members of an object, each with a comma
  // behind it.
  std::string echo;
};

}  // namespace windrow::api
