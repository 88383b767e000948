// Translation: the body of another API's request as the body of a chat completion, or of another
// endpoint. What it becomes is read by the parser every such body is read by, or goes to a server
// elsewhere; so a field means here what it means there, and only names and shapes are this folder's
// affair. Pure; any thread.
//
// Every field of a body has a row in a table, as in llm/request_fields.h: honoured, accepted
// without effect, refused; docs/api.md shows the tables, and a test holds the two together. What is
// in no row is refused by name.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/wire/dialect.h"
#include "api/wire/earlier_items.h"
#include "api/wire/origins.h"
#include "llm/answer.h"
#include "llm/request_json.h"

namespace windrow::api {

// kResponses: what a request adds to its conversation.
struct ResponseTurn {
  bool store = false;              // its answer is to be kept
  std::string previous_id;         // the response that it continues; empty: none
  boost::json::array input_items;  // its own, references replaced by what they refer to
};

// What a request of Ollama's wants of a model instead of an answer.
enum class ModelWish : uint8_t { kAnswer, kLoad, kUnload };

struct Translation {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  ModelWish wish = ModelWish::kAnswer;  // of the others, `chat` has the model alone
  bool unloads_after = false;           // kAnswer, Ollama's: then nobody needs the model any more
  boost::json::object chat;             // the envelope's fields (envelope.h) are in it, too
  Origins origins;

  // Arguments for the chat template that count where it knows them (llm::Chat::wishes): agents send
  // them to whatever model there is. Servers elsewhere get them as a chat has them:
  // reasoning_effort in the body, others as chat_template_kwargs.
  boost::json::object wishes;

  // kResponses: members of the request that the answer repeats.
  boost::json::object echo;
  ResponseTurn turn;
};

struct TranslationContext {
  // kMessages: its tokens are to be counted, so it need not say how long an answer may be.
  bool counts_only = false;

  // kResponses: what it may refer to; nullptr: nothing, and its answer is not kept.
  const EarlierItems* earlier = nullptr;
};

// A Failure names the field of `body`.
std::variant<Translation, llm::Failure> translate(Dialect dialect, const boost::json::object& body,
                                                  const TranslationContext& context = {});

// As llm::take_unknown_fields, of a body in another dialect.
std::vector<std::string> take_unknown_fields(Dialect dialect, boost::json::object& body);

// Translation::wishes in a body for a server elsewhere, which knows what its templates know.
void add_wishes(const boost::json::object& wishes, boost::json::object& body);

// A body that says all of a translation: two that are equal ask the same.
std::string whole_text(const Translation& translation);

// What becomes of a field, for documents and for the test that holds them to the code.
struct TranslatedRule {
  std::string_view name;
  llm::FieldUse use = llm::FieldUse::kHonoured;

  // What is accepted, as the documents say it. Of a refused field it is JSON, and nothing where no
  // value is accepted.
  std::string_view values;

  std::string_view instead;  // kRefused: why, and what to do
};

// In the order they are read in.
std::span<const TranslatedRule> translated_rules(Dialect dialect);

}  // namespace windrow::api
