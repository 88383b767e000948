// Translation: the body of another API's request as the body of a chat completion. What it becomes
// is read by the parser every chat is read by, or goes to a server elsewhere; so a field means here
// what it means there, and only names and shapes are this folder's affair. Pure; any thread.
//
// Every field of a body has a row in a table, as in llm/field_table.h: honoured, accepted without
// effect, refused; docs/api.md shows the tables, and a test holds the two together. What is in no
// row is refused by name.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string_view>
#include <variant>

#include "api/dialects/dialect.h"
#include "api/dialects/origins.h"
#include "llm/answer.h"
#include "llm/request_json.h"

namespace windrow::api {

struct Translation {
  boost::json::object chat;  // the envelope's fields (envelope.h) are in it, too
  Origins origins;

  // Arguments for the chat template that count where it knows them (llm::Chat::wishes): agents send
  // them to whatever model there is. Servers elsewhere get them as a chat has them:
  // reasoning_effort in the body, others as chat_template_kwargs.
  boost::json::object wishes;

  // kResponses: members of the request that the answer repeats.
  boost::json::object echo;
};

// A Failure names the field of `body`. kMessages with `counts_only`: its tokens are to be counted,
// so it need not say how long an answer may be.
std::variant<Translation, llm::Failure> translate(Dialect dialect, const boost::json::object& body,
                                                  bool counts_only = false);

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
