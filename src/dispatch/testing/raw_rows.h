// Requests with a raw body, and what a workload says of them.
#pragma once

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "base/hash.h"
#include "dispatch/work_item.h"
#include "llm/packed_inputs.h"
#include "llm/raw_body.h"

namespace windrow::dispatch::testing {

inline llm::Request raw_row(llm::Endpoint endpoint, std::string_view body) {
  return llm::raw_request(endpoint, body, boost::json::parse(body).as_object(), {});
}

inline WorkItem item_of(const llm::Request& request) {
  WorkItem item;
  if (const auto key = llm::pack_key(request)) item.pack = std::max<uint64_t>(hash64(*key), 1);
  if (const auto key = llm::repeat_key(request)) item.same_answer = hash128(*key);
  return item;
}

}  // namespace windrow::dispatch::testing
