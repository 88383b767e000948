#include "session/testing/session_rig.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "json/parse.h"

namespace windrow::session::testing {

namespace json = boost::json;

std::string SessionRig::create(std::string_view body) {
  auto created = service.create(everybody(), body);
  if (const auto* failure = std::get_if<llm::Failure>(&created)) {
    ADD_FAILURE() << failure->message;
    return "";
  }
  return std::get<CreatedSession>(created).id;
}

std::future<TurnEnd> SessionRig::begin(std::string_view session, json::array messages,
                                       std::stop_token unwanted, json::object more) {
  more["messages"] = std::move(messages);
  auto promise = std::make_shared<std::promise<TurnEnd>>();
  std::future<TurnEnd> end = promise->get_future();
  service.turn(
      {.session = std::string(session), .viewer = everybody(), .body = json::serialize(more)},
      std::move(unwanted), [promise](TurnEnd ended) { promise->set_value(std::move(ended)); });
  return end;
}

TurnEnd SessionRig::turn(std::string_view session, json::array messages, std::string_view answer,
                         std::string_view finish_reason) {
  models.answer_all([answer = std::string(answer), finish = std::string(finish_reason)](
                        const TurnQuestion& question) -> TurnOutcome {
    return make_answer(question, answer, finish);
  });
  TurnEnd end = begin(session, std::move(messages)).get();
  models.answer_all(nullptr);
  return end;
}

json::object SessionRig::show(std::string_view session, RecordsShown records) {
  auto shown = service.show(everybody(), session, records);
  if (const auto* failure = std::get_if<llm::Failure>(&shown)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return parse_written_json(text_of(*std::get<std::unique_ptr<BodySource>>(shown))).as_object();
}

std::string SessionRig::samples(std::string_view session, std::string_view body) {
  auto made = service.samples(everybody(), session, body);
  if (const auto* failure = std::get_if<llm::Failure>(&made)) {
    ADD_FAILURE() << failure->message;
    return "";
  }
  return text_of(*std::get<std::unique_ptr<BodySource>>(made));
}

json::object message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

json::object message_of(const TurnEnd& end) {
  const auto* result = std::get_if<TurnResult>(&end);
  if (result == nullptr) {
    const auto* failure = std::get_if<llm::Failure>(&end);
    ADD_FAILURE() << (failure == nullptr ? "a passed reply" : failure->message);
    return {};
  }
  json::object reply = parse_written_json(result->body).as_object();
  return reply.at("choices").as_array().at(0).as_object().at("message").as_object();
}

std::string text_of(BodySource& body) {
  constexpr size_t kPiece = 1000;
  std::string text;
  while (body.next(kPiece, text)) {
  }
  return text;
}

}  // namespace windrow::session::testing
