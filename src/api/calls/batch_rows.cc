#include "api/calls/batch_rows.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "api/calls/call_reader.h"
#include "api/wire/call_reply.h"
#include "api/wire/error_reply.h"
#include "api/wire/responses_reply.h"
#include "api/wire/translation.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

class DialectWords final : public batch::RowDialect {
 public:
  DialectWords(Dialect dialect, Origins origins, bool logprobs, std::string echo)
      : origins_(std::move(origins)) {
    facts_.dialect = dialect;
    facts_.logprobs = logprobs;
    facts_.echo = std::move(echo);
  }

  llm::Outcome to_client(llm::Outcome outcome) const override {
    outcome = to_canonical(llm::Endpoint::kChatCompletions, origins_, std::move(outcome));
    auto* failure = std::get_if<llm::Failure>(&outcome);
    if (failure != nullptr && facts_.dialect == Dialect::kMessages)
      failure->raw = error_body(*failure, facts_.dialect);
    return outcome;
  }

  std::string body(std::string_view id, std::string_view model, int64_t created_unix_s,
                   const llm::Answer& answer) const override {
    ReplyFacts facts = facts_;
    facts.id = id;
    facts.model = model;
    facts.created_unix_s = created_unix_s;
    return reply_body(facts, answer);
  }

 private:
  const Origins origins_;
  ReplyFacts facts_;  // without those of one answer
};

class DialectRows final : public batch::RowApi {
 public:
  explicit DialectRows(Dialect dialect) : dialect_(dialect) {}

  std::string_view url() const override { return url_of(endpoint(), dialect_); }
  llm::Endpoint endpoint() const override { return llm::Endpoint::kChatCompletions; }

  std::variant<Translated, llm::Failure> translate(json::object body, const json::object& defaults,
                                                   llm::UnknownFields unknown_fields,
                                                   bool raw) const override {
    std::vector<std::string> ignored;
    if (unknown_fields == llm::UnknownFields::kIgnore)
      ignored = take_unknown_fields(dialect_, body);
    auto translated = windrow::api::translate(dialect_, body);
    if (auto* failure = std::get_if<llm::Failure>(&translated)) {
      if (dialect_ == Dialect::kMessages) failure->raw = error_body(*failure, dialect_);
      return std::move(*failure);
    }
    auto& translation = std::get<Translation>(translated);
    const json::value* logprobs = translation.chat.if_contains("logprobs");
    std::string echo;
    if (dialect_ == Dialect::kResponses) {
      json::object chat = translation.chat;
      for (const auto& [name, value] : defaults)
        chat.emplace(name, value);
      echo = responses_echo(translation.echo, chat, raw);
    }
    Translated row{.endpoint = endpoint(), .text = whole_text(translation)};
    row.dialect =
        std::make_shared<DialectWords>(dialect_, std::move(translation.origins),
                                       logprobs != nullptr && *logprobs == true, std::move(echo));
    row.body = std::move(translation.chat);
    row.wishes = std::move(translation.wishes);
    row.ignored_fields = std::move(ignored);
    return row;
  }

 private:
  const Dialect dialect_;
};

}  // namespace

batch::RowApis row_apis() {
  return {std::make_shared<DialectRows>(Dialect::kResponses),
          std::make_shared<DialectRows>(Dialect::kMessages)};
}

}  // namespace windrow::api
