#include "session/models/turn_body.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>

#include "json/limits.h"
#include "llm/testing/chatml_tokenizer.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

json::object body_of(ModelKind kind, json::object asked) {
  const SessionModel model{.name = "m",
                           .kind = kind,
                           .tokenizer = std::make_shared<const llm::testing::ChatmlTokenizer>()};
  TurnQuestion question{.session = "s", .body = std::move(asked), .chat = {}, .prompt = {1, 2}};
  const auto made = make_turn_body(model, question, {});
  const auto* body = std::get_if<TurnBody>(&made);
  if (body == nullptr) {
    ADD_FAILURE() << std::get<llm::Failure>(made).message;
    return {};
  }
  return json::parse(body->text, {}, {.max_depth = kWrittenJsonDepthMax}).as_object();
}

json::object question() {
  return {{"messages", {{{"role", "user"}, {"content", "a"}}}}};
}

TEST(TurnBody, RowsAreAskedForBySessionsAndNotByClients) {
  json::object asked = question();
  asked["return_routed_experts"] = true;
  asked["return_indexer_topk"] = true;
  for (const ModelKind kind : {ModelKind::kSglangChat, ModelKind::kSglangGenerate}) {
    const json::object body = body_of(kind, asked);
    EXPECT_FALSE(body.contains("return_routed_experts"));
    EXPECT_FALSE(body.contains("return_indexer_topk"));
  }
}

// As deep as a body may be, which is deeper than the library's parser goes by default.
TEST(TurnBody, ASchemaMayBeNestedDeep) {
  json::value schema = json::object{{"type", "string"}};
  for (int i = 0; i < 50; ++i)
    schema = json::object{{"type", "object"}, {"properties", {{"a", std::move(schema)}}}};
  json::object asked = question();
  asked["response_format"] = {{"type", "json_schema"},
                              {"json_schema", {{"name", "s"}, {"schema", schema}}}};
  const json::object body = body_of(ModelKind::kVllmCompletions, asked);
  EXPECT_EQ(json::serialize(body.at("structured_outputs").at("json")), json::serialize(schema));
}

}  // namespace
}  // namespace windrow::session
