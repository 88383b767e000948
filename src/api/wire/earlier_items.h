// EarlierItems: the items of earlier turns that a body of /v1/responses may refer to, by
// previous_response_id and by item_reference. Read by the thread that translates the body.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <variant>

#include "llm/answer.h"

namespace windrow::api {

class EarlierItems {
 public:
  virtual ~EarlierItems() = default;

  // Whether the answer to this request will be kept, unless it asks for the opposite.
  virtual bool keeps() const = 0;

  // The whole conversation up to a response and including it, oldest item first. A failure, whose
  // param the caller sets: the response, or one that it continues, is not kept.
  virtual std::variant<boost::json::array, llm::Failure> conversation(
      std::string_view response_id) const = 0;

  // One item of any of them; a failure likewise.
  virtual std::variant<boost::json::value, llm::Failure> item(std::string_view id) const = 0;
};

}  // namespace windrow::api
