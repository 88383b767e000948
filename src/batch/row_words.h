// Rows in the words of other APIs: what a batch needs to know of them. Who has these APIs
// implements it and hands it in; nothing here knows one by name.
#pragma once

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

// In which words one row was asked. Immutable; any thread.
class RowWords {
 public:
  virtual ~RowWords() = default;

  // Returns the outcome of a row as its client is told it: a failure names the fields that were
  // sent, and the answer of a server elsewhere is in our own form, or a failure.
  virtual llm::Outcome in_own_words(llm::Outcome outcome) const = 0;

  // The body of an answer, one line of JSON. `id` without a prefix.
  virtual std::string body(std::string_view id, std::string_view model, int64_t created_unix_s,
                           const llm::Answer& answer) const = 0;
};

// One such API. Immutable; any thread.
class RowApi {
 public:
  // The body of a row, translated into the words of an endpoint.
  struct Translated {
    llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
    boost::json::object body;    // of the endpoint
    boost::json::object wishes;  // llm::Chat::wishes; for servers elsewhere they are in `text`
    std::string text;            // all of it as JSON; equal ones ask the same
    std::shared_ptr<const RowWords> words;
    std::vector<std::string> ignored_fields;  // not known and left out
  };

  virtual ~RowApi() = default;

  virtual std::string_view url() const = 0;

  // Returns the endpoint whose words the rows are put into: a model has to answer that.
  virtual llm::Endpoint endpoint() const = 0;

  // `defaults` are laid under the translated body later. `raw`: a server elsewhere answers.
  virtual std::variant<Translated, llm::Failure> translate(boost::json::object body,
                                                           const boost::json::object& defaults,
                                                           llm::UnknownFields unknown_fields,
                                                           bool raw) const = 0;
};

using RowApis = std::vector<std::shared_ptr<const RowApi>>;

// nullptr: none has this url.
const RowApi* find_api(const RowApis& apis, std::string_view url);

// Every url that rows may have, for messages: those of llm::endpoint_urls() and of `apis`.
std::string row_urls(const RowApis& apis);

}  // namespace windrow::batch
