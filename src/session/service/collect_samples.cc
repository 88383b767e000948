#include "session/service/collect_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "json/parse.h"
#include "json/values.h"
#include "session/samples/samples_body.h"
#include "session/samples/tree_metadata.h"
#include "session/service/session_metadata.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

llm::Failure bad_samples_body(std::string message) {
  return {.code = "invalid_value", .message = std::move(message)};
}

void add_metadata_of_trees(std::span<const TurnPath> paths, const json::object* agent,
                           const llm::Tokenizer& tokenizer, Samples& samples) {
  std::vector<std::optional<json::array>> mismatches(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    if (const auto found = find_mismatches(paths[i], chat_of(paths[i]), tokenizer))
      mismatches[i] = to_json(*found);
  }
  for (Sample& sample : samples.samples) {
    const std::optional<json::array>& found = mismatches[sample.conversation];
    add_tree_metadata(paths[sample.conversation], found ? &*found : nullptr, agent,
                      sample.metadata);
  }
}

}  // namespace

std::variant<SamplesRequest, llm::Failure> read_samples_request(std::string_view body) {
  SamplesRequest request;
  if (body.empty()) return request;
  auto parsed = parse_json(body);
  if (const auto* fault = std::get_if<JsonFault>(&parsed))
    return bad_samples_body(
        fmt::format("invalid JSON body: {} at byte {}", fault->reason, fault->byte));
  const auto& value = std::get<json::value>(parsed);
  if (!value.is_object())
    return bad_samples_body(
        fmt::format("the body must be a JSON object, not {}", kind_name(value)));
  if (const json::value* most = member_in(&value, "max_seq_len"); most && !most->is_null()) {
    // A trainer may write it as 32768.0.
    boost::system::error_code inexact;
    const auto tokens = most->is_number() ? most->to_number<int64_t>(inexact) : 0;
    if (inexact || tokens < 1)
      return bad_samples_body(fmt::format("max_seq_len must be a whole number above 0, not {}",
                                          json::serialize(*most)));
    request.rules.tokens_max = static_cast<size_t>(tokens);
  }
  if (const json::value* apart = member_in(&value, "turns_apart"); apart && !apart->is_null()) {
    if (!apart->is_bool())
      return bad_samples_body(
          fmt::format("turns_apart must be true or false, not {}", json::serialize(*apart)));
    request.rules.turns_apart = apart->get_bool();
  }
  if (const json::value* agent = member_in(&value, "metadata"); agent && !agent->is_null()) {
    if (!agent->is_object())
      return bad_samples_body(fmt::format("metadata must be an object, not {}", kind_name(*agent)));
    request.agent = *agent;
  }
  return request;
}

std::variant<CollectedSamples, llm::Failure> collect_samples(
    const Session& session, const std::optional<SessionModel>& model, SamplesRequest request) {
  const Session::Reading reading = session.read(/*with_paths=*/true);
  SessionMetadata metadata = session_metadata(session, reading, model);
  const bool tree = session.config().history == HistoryKind::kTree;
  Samples samples{.empty = EmptyReason::kNoRecords};
  if (model) {
    const std::vector<TurnPath> paths = session.kept_paths();
    auto assembled = assemble(paths, request.rules, *model->tokenizer);
    if (auto* failure = std::get_if<llm::Failure>(&assembled)) return std::move(*failure);
    samples = std::get<Samples>(std::move(assembled));
    if (tree) add_metadata_of_trees(paths, request.agent.if_object(), *model->tokenizer, samples);
  }
  SamplesBodyOptions options{.with_reward = tree};
  options.shapes[static_cast<size_t>(RowKind::kRoutedExperts)].layers =
      std::max<size_t>(session.config().routed_layers, 1);
  if (tree && request.agent.is_object()) metadata.json["agent"] = std::move(request.agent);
  options.session_metadata = std::move(metadata.json);
  return CollectedSamples{.body = make_samples_body(std::move(samples), std::move(options)),
                          .mismatches = std::move(metadata.mismatches)};
}

}  // namespace windrow::session
