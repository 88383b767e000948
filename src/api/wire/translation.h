// Translation: the body of another API's request becomes the body of a chat completion, or of
// another endpoint, and what comes back is put into that API's terms. The translated body is read
// by the parser of all such bodies, or sent to an upstream, so a field means the same as there;
// only names and shapes are translated. Pure; any thread.
//
// Every field of a body has a row in a table, as in llm/request_fields.h: honoured, accepted
// without effect, or refused. docs/api.md shows the tables, and a test compares the two. A field in
// no row is refused by name.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/wire/dialect.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "llm/request_json.h"

namespace windrow::api {

// The items of earlier turns that a body of /v1/responses may refer to, by previous_response_id and
// by item_reference. Called on the thread that translates the body.
class EarlierItems {
 public:
  virtual ~EarlierItems() = default;

  // True if responses are stored, unless the request asks for the opposite.
  virtual bool keeps() const = 0;

  // The whole conversation up to and including a response, oldest item first. A failure, whose
  // param the caller sets, if the response or one that it continues is not stored.
  virtual std::variant<boost::json::array, llm::Failure> conversation(
      std::string_view response_id) const = 0;

  // One item of any stored response; a failure as above.
  virtual std::variant<boost::json::value, llm::Failure> item(std::string_view id) const = 0;
};

// Where each part of a translation stood in the client's body, so that errors can name it.
class Origins {
 public:
  // The part `made` of the translation, and all that is in it, comes from `sent`.
  void add(std::string made, std::string sent);

  // "messages[2].content" -> "input[1].content". The longest known part decides; an unknown one
  // stays.
  std::string of(std::string_view made) const;

  // Puts the names of the client's body into the param and the message, and drops an upstream's own
  // error body, which names other fields.
  llm::Failure to_client(llm::Failure failure) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// kResponses: what a request adds to its conversation.
struct ResponseTurn {
  bool store = false;              // store the response
  std::string previous_id;         // the response that it continues; empty: none
  boost::json::array input_items;  // its own; references are replaced by the items
};

// What a request of Ollama's asks of a model.
enum class ModelAction : uint8_t { kAnswer, kLoad, kUnload };

struct Translation {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  ModelAction action = ModelAction::kAnswer;  // else `chat` has only the model
  bool unloads_after = false;                 // kAnswer: unload the model after the answer
  boost::json::object chat;                   // with the envelope's fields (envelope.h)
  Origins origins;

  // Arguments for the chat template, ignored by templates that do not know them
  // (llm::Chat::wishes), because agents send them to any model. Upstreams get them as a chat has
  // them: reasoning_effort in the body, others as chat_template_kwargs.
  boost::json::object wishes;

  // kResponses: members of the request that the answer repeats.
  boost::json::object echo;
  ResponseTurn turn;
};

struct TranslationContext {
  // kMessages: only counts tokens, so max_tokens may be absent.
  bool counts_only = false;

  // kResponses: the stored responses; null: there are none, and the answer is not stored.
  const EarlierItems* earlier = nullptr;
};

// A failure, 400, names the field of `body`.
std::variant<Translation, llm::Failure> translate(Dialect dialect, const boost::json::object& body,
                                                  const TranslationContext& context = {});

// Removes unknown fields from a body in another dialect and returns their names.
std::vector<std::string> take_unknown_fields(Dialect dialect, boost::json::object& body);

// Adds Translation::wishes to a body for an upstream.
void add_wishes(const boost::json::object& wishes, boost::json::object& body);

// A body with everything in the translation: equal texts are equal requests.
std::string whole_text(const Translation& translation);

// What happens to a field, for the documents and the test that compares them with the code.
struct TranslatedRule {
  std::string_view name;
  llm::FieldUse use = llm::FieldUse::kHonoured;

  // The accepted values, as the documents show them. For a refused field the one accepted value as
  // JSON, or nothing.
  std::string_view values;

  std::string_view instead;  // kRefused: why, and what to do
};

// In the order in which the fields are read.
std::span<const TranslatedRule> translated_rules(Dialect dialect);

// What a backend returned for a translated body, for the writers of the dialect: an upstream's
// reply is parsed (502 if it is no answer), and a failure names the fields of the client's body.
// `endpoint` is that of the translation.
llm::Outcome to_canonical(llm::Endpoint endpoint, const Origins& origins, llm::Outcome outcome);

}  // namespace windrow::api
