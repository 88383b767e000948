// SessionRig: a SessionService over ScriptedModels on a clock that the test moves.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/manual_clock.h"
#include "session/service/session_service.h"
#include "session/testing/scripted_models.h"

namespace windrow::session::testing {

inline SessionViewer everybody() {
  return {.sees_all = true};
}

class SessionRig {
 public:
  explicit SessionRig(SessionOptions options = {}, ModelKind kind = ModelKind::kEmbedded)
      : models(kind), service(clock, std::move(options), "a seed for tests, of 32 bytes...") {
    service.start(models);
  }
  ~SessionRig() { service.stop(); }
  SessionRig(const SessionRig&) = delete;
  SessionRig& operator=(const SessionRig&) = delete;

  std::string create(std::string_view body = "");

  // Begins a turn of these messages; `more` are members of the body.
  std::future<TurnEnd> begin(std::string_view session, boost::json::array messages,
                             std::stop_token unwanted = {}, boost::json::object more = {});

  // A turn that the model answers by this text. Messages: a user's text, or a list.
  TurnEnd turn(std::string_view session, boost::json::array messages, std::string_view answer,
               std::string_view finish_reason = "stop");

  // The session as GET shows it, and as its samples' tensors say.
  boost::json::object show(std::string_view session, RecordsShown records = RecordsShown::kAll);
  std::string samples(std::string_view session, std::string_view body = "");

  windrow::testing::ManualClock clock;
  ScriptedModels models;
  SessionService service;
};

// {"role": role, "content": content}
boost::json::object message(std::string_view role, std::string_view content);

// The message of a turn's reply; fails the test where there is none.
boost::json::object message_of(const TurnEnd& end);

// All of a body.
std::string text_of(BodySource& body);

}  // namespace windrow::session::testing
