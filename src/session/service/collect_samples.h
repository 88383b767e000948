// What POST /sessions/{id}/samples does: reads what is wanted, and makes it of a session. Pure;
// takes as long as rendering and tokenising the conversations, because of the mismatch report.
#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "session/models/session_models.h"
#include "session/samples/body_source.h"
#include "session/samples/mismatch.h"
#include "session/samples/sample.h"
#include "session/service/session.h"

namespace windrow::session {

struct SamplesRequest {
  SampleRules rules;
  boost::json::value agent;  // `metadata`: the trainer's own, of a tree; null: none
};

// 400 for what the body may not have; an empty one asks for the usual.
std::variant<SamplesRequest, llm::Failure> read_samples_request(std::string_view body);

struct CollectedSamples {
  std::unique_ptr<BodySource> body;
  std::vector<Mismatch> mismatches;  // of the latest conversation
};

// `model`: of the session's turns; nothing: it had none. 422 as assemble().
std::variant<CollectedSamples, llm::Failure> collect_samples(
    const Session& session, const std::optional<SessionModel>& model, SamplesRequest request);

}  // namespace windrow::session
