// The bodies of other APIs: a table of fields for each dialect, and what its readers use. A reader
// takes one field of the client's body and adds to the draft of the translation (translation.h).
// Pure; any thread.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/translation.h"
#include "llm/field_values.h"

namespace windrow::api {

struct TranslationDraft {
  Translation made;
  boost::json::array messages;  // of the chat
  TranslationContext context;
  bool lists_logprobs = false;
  bool stores = true;       // kResponses: the field `store`
  bool has_prompt = false;  // Ollama
  bool unloads = false;     // Ollama: keep_alive is 0

  // Adds a message of the chat that stands at `sent` in the body. Returns its name, "messages[2]",
  // for the origins of its parts.
  std::string add_message(boost::json::object message, std::string_view sent);
};

// Reads one field that is not null. Fields are read in the order of their table.
using TranslatingReader = llm::Problem (*)(std::string_view name, const boost::json::value& value,
                                           TranslationDraft& draft);

// A field without a reader is refused, except for the one value that `values` may have.
struct TranslatedField {
  TranslatedRule rule;
  TranslatingReader read = nullptr;
};

// TranslatedRule::values of fields that are passed on.
constexpr std::string_view kAsOfChat = "as of a chat";

// --- tables, and what follows after them -------------------------------------------------------

std::span<const TranslatedField> responses_fields();
std::span<const TranslatedField> messages_fields();
std::span<const TranslatedField> ollama_chat_fields();
std::span<const TranslatedField> ollama_generate_fields();
std::span<const TranslatedField> ollama_embed_fields();
std::span<const TranslatedField> ollama_embeddings_fields();

// Read the fields that depend on each other, and report missing ones.
llm::Problem settle_responses(const boost::json::object& body, TranslationDraft& draft);
llm::Problem settle_messages(const boost::json::object& body, TranslationDraft& draft);
llm::Problem settle_ollama(Dialect dialect, const boost::json::object& body,
                           TranslationDraft& draft);

// A row of the object `options` of Ollama's requests.
struct OllamaOption {
  std::string_view name;
  llm::FieldUse use = llm::FieldUse::kHonoured;
  std::string_view values;  // what is accepted; kRefused: the one accepted value, as JSON
  std::string_view made;    // kHonoured: the field of a chat that it becomes
};
std::span<const OllamaOption> ollama_options();

// --- readers of conversations: each adds the messages of a chat ---------------------------------

// The `input` of /v1/responses. Consecutive items of the assistant - reasoning, text, function
// calls - become one message, as chat templates expect. Items of earlier turns, named by
// previous_response_id or item_reference, are read as if they had been sent.
llm::Problem read_input(std::string_view name, const boost::json::value& value,
                        TranslationDraft& draft);

// The `system` and the `messages` of /v1/messages. A user's message may become several, because
// tool results are messages of their own in a chat.
llm::Problem read_system(std::string_view name, const boost::json::value& value,
                         TranslationDraft& draft);
llm::Problem read_turns(std::string_view name, const boost::json::value& value,
                        TranslationDraft& draft);

// The `messages` of Ollama's /api/chat. Its tool calls may lack ids, and its tool results name the
// tool; both get ids, as templates and other servers require.
llm::Problem read_ollama_messages(std::string_view name, const boost::json::value& value,
                                  TranslationDraft& draft);

// --- readers and helpers that several dialects use ----------------------------------------------

// The same field of a chat, with the same meaning.
llm::Problem pass_on(std::string_view name, const boost::json::value& value,
                     TranslationDraft& draft);
llm::Problem ignore_field(std::string_view name, const boost::json::value& value,
                          TranslationDraft& draft);

// Passes on a field that was sent under one name and has another in a chat.
void pass_as(std::string_view made, std::string_view sent, const boost::json::value& value,
             TranslationDraft& draft);

// The reasoning effort, for templates that know one.
llm::Problem wish_effort(std::string_view place, const boost::json::value& value,
                         TranslationDraft& draft);

// The list of tools `name`, each read by `read_tool`, which appends a chat's tool. `wanted` is what
// the list must be, for the error.
using ToolReader = llm::Problem (*)(const std::string& place, const boost::json::value& value,
                                    TranslationDraft& draft, boost::json::array& tools);
llm::Problem read_tools(std::string_view name, const boost::json::value& value,
                        std::string_view wanted, ToolReader read_tool, TranslationDraft& draft);

// A tool_choice that names a function.
void choose_function(std::string_view name, const std::string& function, TranslationDraft& draft);

// ObjectReader: the members of one object of a body. A reader takes the members that it knows; the
// others are refused by name.
class ObjectReader {
 public:
  ObjectReader() = default;

  // `object` outlives the reader. `place` is where it stands, for messages: "input[2]".
  ObjectReader(std::string place, const boost::json::object& object);

  // The same for a value that must be an object: "`place` must be `wanted`, not a string".
  llm::Problem open(const boost::json::value& value, std::string_view place,
                    std::string_view wanted);

  const std::string& place() const { return place_; }
  std::string place(std::string_view member) const;

  // Null if the member is absent or null.
  const boost::json::value* take(std::string_view member);

  // These members are allowed with any value.
  void skip(std::initializer_list<std::string_view> members);

  // A string that must be there.
  llm::Problem need(std::string_view member, std::string& target);

  // Refuses the members that were not taken: "input[2].x is not supported; `has`".
  llm::Problem rest(std::string_view has) const;

 private:
  std::string place_;
  const boost::json::object* object_ = nullptr;
  std::vector<std::string_view> taken_;
};

}  // namespace windrow::api
