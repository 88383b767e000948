// Rows in dialects: requests in the format of another API (Responses, Messages). A higher module
// implements the interfaces and passes them to the job; this module knows no dialect by name.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "llm/request_json.h"

namespace windrow::batch {

// The dialect of one row: how its outcome is written for the client. Immutable; any thread.
class RowDialect {
 public:
  virtual ~RowDialect() = default;

  // Returns the outcome as the client is to get it: a failure names the fields that the client
  // sent; an upstream's raw answer is parsed, or becomes a failure.
  virtual llm::Outcome to_client(llm::Outcome outcome) const = 0;

  // The body of an answer, one line of JSON. `id` without a prefix.
  virtual std::string body(std::string_view id, std::string_view model, int64_t created_unix_s,
                           const llm::Answer& answer) const = 0;
};

// An API whose rows can be translated. Immutable; any thread.
class RowApi {
 public:
  // The body of a row, translated into the format of an endpoint.
  struct Translated {
    llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
    boost::json::object body;
    boost::json::object wishes;  // llm::Chat::wishes; for an upstream they are part of `text`
    std::string text;            // all of it as JSON; equal texts ask the same
    std::shared_ptr<const RowDialect> dialect;
    std::vector<std::string> ignored_fields;  // unknown ones that were left out
  };

  virtual ~RowApi() = default;

  virtual std::string_view url() const = 0;

  // The endpoint that rows are translated to; the model has to answer it.
  virtual llm::Endpoint endpoint() const = 0;

  // Returns the translation, or why the body cannot be translated. `defaults` are the values that
  // the translated body gets later for fields it lacks. `raw`: an upstream answers.
  virtual std::variant<Translated, llm::Failure> translate(boost::json::object body,
                                                           const boost::json::object& defaults,
                                                           llm::UnknownFields unknown_fields,
                                                           bool raw) const = 0;
};

using RowApis = std::vector<std::shared_ptr<const RowApi>>;

// nullptr where no API has this url.
inline const RowApi* find_api(const RowApis& apis, std::string_view url) {
  const auto found = std::ranges::find_if(apis, [&](const auto& api) { return api->url() == url; });
  return found == apis.end() ? nullptr : found->get();
}

// All urls that rows may have, for messages: those of `apis` and of llm::endpoint_urls().
inline std::string row_urls(const RowApis& apis) {
  std::string urls;
  for (const auto& api : apis) {
    urls += api->url();
    urls += ", ";
  }
  return urls + llm::endpoint_urls();
}

}  // namespace windrow::batch
