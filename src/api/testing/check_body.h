// One body of any bytes, read for any endpoint: it becomes a plan, or a failure that a client can
// be shown. For tests and for the program that libFuzzer drives.
#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <variant>

#include "api/calls/call_reader.h"
#include "api/wire/error_reply.h"
#include "base/ensure.h"
#include "llm/request_json.h"

namespace windrow::api::testing {

inline const ModelRegistry& catalogue_of_both_kinds() {
  static const ModelRegistry& registry = [&]() -> ModelRegistry& {
    static ModelRegistry both;
    const llm::EndpointSet all = {llm::Endpoint::kChatCompletions, llm::Endpoint::kCompletions,
                                  llm::Endpoint::kEmbeddings, llm::Endpoint::kRerank};
    both.add({.name = "m", .endpoints = all}, true);
    both.add({.name = "far", .endpoints = all, .raw = true});
    return both;
  }();
  return registry;
}

constexpr uint8_t kBodyKinds = 11;

// `kind` chooses the endpoint: each of its own, with TEI's form or without, then the dialects.
// Whether it became a plan.
inline bool check_body(uint8_t kind, std::string body) {
  kind %= kBodyKinds;
  CallInput input{.body = std::move(body)};
  if (kind < 8) {
    input.endpoint = llm::endpoints()[kind % llm::endpoints().size()];
    input.may_be_tei = kind >= 4;
  } else {
    input.dialect = kind == 8 ? Dialect::kResponses : Dialect::kMessages;
    input.counts_only = kind == 10;
  }
  const auto read = read_call(input, {}, catalogue_of_both_kinds());
  if (const auto* failure = std::get_if<llm::Failure>(&read)) {
    const http::ServerReply reply = error_reply(*failure, input.dialect);
    ENSURE(reply.status >= 400 && reply.status < 500, "a body is answered {}", reply.status);
    boost::system::error_code wrong;
    const boost::json::value shown = boost::json::parse(reply.body, wrong);
    ENSURE(!wrong, "an error is no JSON: {}", reply.body);
    ENSURE(!shown.at("error").at("message").as_string().empty(), "an error says nothing");
    return false;
  }
  const CallPlan& plan = std::get<CallPlan>(read);
  ENSURE(plan.model != nullptr && plan.item.tokens > 0, "a plan for nobody");
  if (plan.model->raw) {
    boost::system::error_code wrong;
    ENSURE(boost::json::parse(plan.request.raw, wrong).is_object() && !wrong,
           "what goes elsewhere is no JSON: {}", plan.request.raw);
  }
  return true;
}

}  // namespace windrow::api::testing
