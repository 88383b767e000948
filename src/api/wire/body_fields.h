// The fields of bodies of other APIs: a table for each dialect, and what their readers write into.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <string>
#include <string_view>

#include "api/wire/translation.h"
#include "llm/field_values.h"

namespace windrow::api {

struct TranslationDraft {
  Translation made;
  boost::json::array messages;  // of the chat
  TranslationContext context;
  bool lists_logprobs = false;
  bool stores = true;    // kResponses: the field `store`
  bool asks = false;     // Ollama's: there is a prompt
  bool unloads = false;  // Ollama's: keep_alive is 0

  // A message of the chat, which stands at `sent` in the body. Returns its name, "messages[2]", for
  // the origins of its parts.
  std::string add_message(boost::json::object message, std::string_view sent);
};

// Reads one field that is not null. Fields are read in the order of their table.
using TranslatingReader = llm::Problem (*)(std::string_view name, const boost::json::value& value,
                                           TranslationDraft& draft);

// A row without a reader is refused, but for the one value that `values` may have.
struct TranslatedField {
  TranslatedRule rule;
  TranslatingReader read = nullptr;
};

// TranslatedRule::values of fields that are passed on.
constexpr std::string_view kAsOfChat = "as of a chat";

// Readers that several fields have. The same field of a chat, with the same meaning:
llm::Problem pass_on(std::string_view name, const boost::json::value& value,
                     TranslationDraft& draft);
llm::Problem ignore_field(std::string_view name, const boost::json::value& value,
                          TranslationDraft& draft);

// Passes on a field that was sent under one name and has another in a chat.
void pass_as(std::string_view made, std::string_view sent, const boost::json::value& value,
             TranslationDraft& draft);

// How much a model should think, where its template has a measure.
llm::Problem wish_effort(std::string_view place, const boost::json::value& value,
                         TranslationDraft& draft);

std::span<const TranslatedField> responses_fields();
std::span<const TranslatedField> messages_fields();
std::span<const TranslatedField> ollama_chat_fields();
std::span<const TranslatedField> ollama_generate_fields();
std::span<const TranslatedField> ollama_embed_fields();
std::span<const TranslatedField> ollama_embeddings_fields();

// Reads the fields that depend on each other, and says which are missing.
llm::Problem settle_responses(const boost::json::object& body, TranslationDraft& draft);
llm::Problem settle_messages(const boost::json::object& body, TranslationDraft& draft);
llm::Problem settle_ollama(Dialect dialect, const boost::json::object& body,
                           TranslationDraft& draft);

}  // namespace windrow::api
