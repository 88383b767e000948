// A response as it is kept: its body and its input as text, with the ids of all of its items. Pure.
// All of it is made where bodies are read and answers are written, which may be long; keeping it is
// moving it.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::api {

// The items of one request's input, not of what it continues.
struct StoredItems {
  std::string text = "[]";       // a JSON array
  std::vector<std::string> ids;  // of each
};

struct StoredResponse {
  std::string id;           // "resp_..."
  std::string body;         // as it was answered: a JSON object with "output"
  std::string previous_id;  // the response that it continues; empty: none
  StoredItems input;
  std::vector<std::string> output_ids;  // of the items of `body`
};

// `items` are objects with a type. Those without an id get one, by which they can be referred to
// and listed.
StoredItems stored_items(std::string_view response_id, boost::json::array items);

}  // namespace windrow::api
