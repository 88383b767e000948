#include "api/memory/memory_requests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace windrow::api {
namespace {

namespace json = boost::json;
using memory::ScopeKind;
using memory::Tags;
using memory::TagsMatch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::object object(std::string_view text) {
  return json::parse(text).as_object();
}

template <class T>
T read(const memory::Reply<T>& reply) {
  if (const auto* failure = std::get_if<llm::Failure>(&reply)) {
    ADD_FAILURE() << failure->param << ": " << failure->message;
    return {};
  }
  return std::get<T>(reply);
}

template <class T>
llm::Failure failure(const memory::Reply<T>& reply) {
  if (const auto* found = std::get_if<llm::Failure>(&reply)) return *found;
  ADD_FAILURE() << "it was taken";
  return {};
}

memory::RetainItem item(std::string_view members) {
  const auto body = fmt::format(R"({{"items":[{{"content":"a",{}}}]}})", members);
  const RetainRequest request = read(read_retain(object(body)));
  return request.items.empty() ? memory::RetainItem() : request.items.front();
}

llm::Failure refused_item(std::string_view members) {
  return failure(
      read_retain(object(fmt::format(R"({{"items":[{{"content":"a",{}}}]}})", members))));
}

// --- bodies ---

TEST(MemoryBody, MustBeAnObject) {
  EXPECT_EQ(read(read_object(R"({"a":1})")).at("a"), 1);
  for (const char* wrong : {"", "[]", "null", "{", "{}x", "\"a\""}) {
    EXPECT_EQ(failure(read_object(wrong)).status, 422) << wrong;
    EXPECT_EQ(failure(read_object(wrong)).param, "body") << wrong;
  }
  EXPECT_EQ(read(read_optional_object(" \n")), json::object());
  EXPECT_EQ(read(read_optional_object("null")), json::object());
  EXPECT_EQ(failure(read_optional_object("1")).status, 422);
}

TEST(MemoryBody, IdsOfThePath) {
  EXPECT_EQ(read(read_bank_id("team 1")).text, "team 1");
  EXPECT_EQ(read(read_bank_id(std::string(192, 'x'))).text.size(), 192U);
  EXPECT_EQ(failure(read_bank_id(std::string(193, 'x'))).status, 422);
  EXPECT_EQ(failure(read_bank_id("a\nb")).param, "path.bank_id");
  EXPECT_EQ(check_uuid("5c1f0000-0000-4000-8000-0000000000aF", "memory_id"), std::nullopt);
  const llm::Problem problem = check_uuid("5c1f", "memory_id");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->status, 400);
  EXPECT_EQ(problem->message, "Invalid memory_id: '5c1f' is not a valid UUID");
}

// --- retain ---

TEST(RetainBody, AllMembers) {
  const RetainRequest request = read(read_retain(object(R"({"items":[{"content":"Alice likes tea",
      "context":"drinks","timestamp":"2024-01-15T10:30:00Z","metadata":{"k":"v"},
      "document_id":"d/1","entities":[{"text":" Alice ","type":"PERSON"},{"text":"alice"}],
      "tags":["b","a"],"observation_scopes":[["a"],[]],"update_mode":"append","later":1}],
      "document_tags":["c"],"async":false,
      "operation_id":"5c1f0000-0000-4000-8000-000000000000"})")));
  ASSERT_EQ(request.items.size(), 1U);
  const memory::RetainItem& item = request.items.front();
  EXPECT_EQ(item.content, "Alice likes tea");
  EXPECT_EQ(item.context, "drinks");
  EXPECT_EQ(item.timestamp, 1'705'314'600'000);
  EXPECT_EQ(item.metadata.at("k"), "v");
  EXPECT_EQ(item.document_id, "d/1");
  EXPECT_THAT(item.entities, ElementsAre("Alice"));
  EXPECT_THAT(item.tags.list(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(item.scopes.kind, ScopeKind::kExplicit);
  EXPECT_THAT(item.scopes.listed, ElementsAre(Tags({"a"}), Tags()));
  EXPECT_EQ(item.update, memory::DocumentUpdate::kAppend);
  EXPECT_FALSE(request.in_background);
  EXPECT_EQ(request.operation, std::nullopt) << "it counts in the background only";
}

TEST(RetainBody, Times) {
  EXPECT_EQ(item(R"("timestamp":"2024-10-15")").timestamp, 1'728'950'400'000);
  EXPECT_TRUE(item(R"("timestamp":"Unset")").timestamp_unset);
  for (const char* none : {R"("timestamp":null)", R"("timestamp":"")", R"("context":null)"}) {
    EXPECT_EQ(item(none).timestamp, std::nullopt) << none;
    EXPECT_FALSE(item(none).timestamp_unset) << none;
  }
  EXPECT_EQ(refused_item(R"("timestamp":"soon")").param, "body.items[0].timestamp");
  EXPECT_EQ(refused_item(R"("timestamp":5)").status, 422);
}

TEST(RetainBody, Tags) {
  EXPECT_THAT(item(R"("tags":"one")").tags.list(), ElementsAre("one"));
  EXPECT_THAT(item(R"("tags":"[\"b\",\"a\"]")").tags.list(), ElementsAre("a", "b"));
  EXPECT_TRUE(item(R"("tags":null)").tags.is_empty());
  const llm::Failure wrong = refused_item(R"("tags":["a",7])");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.param, "body.items[0].tags[1]");
  EXPECT_THAT(wrong.message, HasSubstr("string"));
  EXPECT_EQ(refused_item(R"("tags":{"a":1})").param, "body.items[0].tags");
  EXPECT_EQ(refused_item(R"("tags":"[1]")").param, "body.items[0].tags[0]");
}

TEST(RetainBody, ObservationScopes) {
  const auto kind = [](std::string_view scopes) {
    return item(fmt::format(R"("observation_scopes":{})", scopes)).scopes.kind;
  };
  EXPECT_EQ(kind("null"), ScopeKind::kCombined);
  EXPECT_EQ(kind(R"("combined")"), ScopeKind::kCombined);
  EXPECT_EQ(kind(R"("per_tag")"), ScopeKind::kPerTag);
  EXPECT_EQ(kind(R"("all_combinations")"), ScopeKind::kAllCombinations);
  EXPECT_EQ(kind(R"("shared")"), ScopeKind::kShared);
  EXPECT_EQ(kind("[]"), ScopeKind::kExplicit);
  for (const char* wrong : {R"("every")", "7", R"(["a"])", "[[1]]"}) {
    const llm::Failure failed = refused_item(fmt::format(R"("observation_scopes":{})", wrong));
    EXPECT_EQ(failed.status, 422) << wrong;
    EXPECT_TRUE(failed.param.starts_with("body.items[0].observation_scopes")) << failed.param;
  }
  EXPECT_THAT(refused_item(R"("observation_scopes":"all_combinations",
                              "tags":["1","2","3","4","5","6","7","8","9"])")
                  .message,
              HasSubstr("at most 8 tags"));
}

TEST(RetainBody, WhatIsRefused) {
  EXPECT_EQ(failure(read_retain(object("{}"))).param, "body.items");
  EXPECT_EQ(failure(read_retain(object(R"({"items":{}})"))).param, "body.items");
  EXPECT_EQ(failure(read_retain(object(R"({"items":["a"]})"))).param, "body.items[0]");
  EXPECT_EQ(failure(read_retain(object(R"({"items":[{}]})"))).param, "body.items[0].content");
  EXPECT_THAT(failure(read_retain(object(R"({"items":[{"content":" \n"}]})"))).message,
              HasSubstr("content cannot be empty"));
  EXPECT_EQ(refused_item(R"("metadata":{"k":7})").param, "body.items[0].metadata.k");
  EXPECT_EQ(refused_item(R"("metadata":[])").param, "body.items[0].metadata");
  EXPECT_EQ(refused_item(R"("entities":[{"type":"x"}])").param, "body.items[0].entities[0].text");
  EXPECT_EQ(refused_item(R"("update_mode":"merge")").param, "body.items[0].update_mode");
  EXPECT_EQ(refused_item(R"("strategy":"s")").param, "body.items[0].strategy");
  EXPECT_EQ(failure(read_retain(object(R"({"items":[],"async":true,"operation_id":"x"})"))).param,
            "body.operation_id");
  EXPECT_EQ(failure(read_retain(object(R"({"items":[],"async":"yes"})"))).param, "body.async");
}

TEST(RetainBody, InTheBackgroundADocumentHasOneItem) {
  constexpr std::string_view kItems =
      R"("items":[{"content":"a","document_id":"d"},{"content":"b","document_id":"d"}])";
  EXPECT_EQ(read(read_retain(object(fmt::format("{{{}}}", kItems)))).items.size(), 2U);
  EXPECT_EQ(failure(read_retain(object(fmt::format(R"({{{},"async":true}})", kItems)))).status,
            400);
  const RetainRequest request = read(read_retain(object(
      R"({"items":[],"async":true,"operation_id":"5C1F0000-0000-4000-8000-000000000000"})")));
  EXPECT_TRUE(request.in_background);
  EXPECT_EQ(request.operation->text, "5c1f0000-0000-4000-8000-000000000000");
}

// --- recall and reflect ---

TEST(RecallBody, Defaults) {
  const RecallRequest request = read(read_recall(object(R"({"query":"tea?"})")));
  EXPECT_EQ(request.query.text, "tea?");
  EXPECT_TRUE(request.query.types.empty());
  EXPECT_EQ(request.query.budget, memory::RecallBudget::kMid);
  EXPECT_EQ(request.query.tokens_max, 4096);
  EXPECT_TRUE(request.query.tags.passes_all());
  EXPECT_TRUE(request.with_entities);
  EXPECT_EQ(request.query.chunk_tokens_max, std::nullopt);
  EXPECT_EQ(request.query.source_fact_tokens_max, std::nullopt);
}

TEST(RecallBody, AllMembers) {
  const RecallRequest request =
      read(read_recall(object(R"({"query":"tea","types":["world","opinion"],
      "budget":"high","max_tokens":0,"trace":true,"prefer_observations":true,
      "query_timestamp":"2023-05-30T23:40:00","include":{"entities":null,"chunks":{},
        "source_facts":{"max_tokens":-1}},
      "tags":["a"],"tags_match":"all_strict","min_scores":{"semantic":0.5,"final":null}})")));
  EXPECT_THAT(request.query.types, ElementsAre(memory::MemoryType::kWorld));
  EXPECT_EQ(request.query.budget, memory::RecallBudget::kHigh);
  EXPECT_EQ(request.query.tokens_max, 0);
  EXPECT_TRUE(request.query.trace);
  EXPECT_TRUE(request.query.prefer_observations);
  EXPECT_FALSE(request.with_entities);
  EXPECT_EQ(request.query.chunk_tokens_max, 8192);
  EXPECT_GT(request.query.source_fact_tokens_max, 1'000'000'000) << "no limit";
  EXPECT_EQ(request.query.tags.tags, Tags({"a"}));
  EXPECT_EQ(request.query.tags.match, TagsMatch::kAllStrict);
  EXPECT_EQ(request.query.scores_min, (std::map<std::string, double>{{"semantic", 0.5}}));
  EXPECT_TRUE(read(read_recall(object(R"({"query":"a","types":["opinion"]})"))).none);
  EXPECT_TRUE(read(read_recall(object(R"({"query":"a","include":{}})"))).with_entities);
}

TEST(RecallBody, GroupsOfTags) {
  const RecallRequest request = read(read_recall(object(R"({"query":"a","tag_groups":[
      {"tags":["x"]},{"or":[{"tags":["y"],"match":"exact"},{"not":{"and":[]}}]}]})")));
  const auto& groups = request.query.tags.groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].tags, Tags({"x"}));
  EXPECT_EQ(groups[0].match, TagsMatch::kAnyStrict);
  ASSERT_EQ(groups[1].parts.size(), 2U);
  EXPECT_EQ(groups[1].kind, memory::TagGroup::Kind::kOr);
  EXPECT_EQ(groups[1].parts[0].match, TagsMatch::kExact);
  EXPECT_EQ(groups[1].parts[1].kind, memory::TagGroup::Kind::kNot);
  EXPECT_EQ(groups[1].parts[1].parts.at(0).kind, memory::TagGroup::Kind::kAnd);
}

TEST(RecallBody, WhatIsRefused) {
  const auto refused = [](std::string_view members) {
    const llm::Failure failed =
        failure(read_recall(object(fmt::format(R"({{"query":"a",{}}})", members))));
    EXPECT_EQ(failed.status, 422) << members;
    return failed.param;
  };
  EXPECT_EQ(failure(read_recall(object("{}"))).param, "body.query");
  EXPECT_EQ(failure(read_recall(object(R"({"query":" ?! "})"))).param, "body.query");
  EXPECT_EQ(failure(read_recall({{"query", std::string(20'000, 'x')}})).param, "body.query");
  EXPECT_EQ(read(read_recall(object(R"({"query":"お茶"})"))).query.text, "お茶");
  EXPECT_EQ(refused(R"("types":["worlds"])"), "body.types");
  EXPECT_EQ(refused(R"("types":"world")"), "body.types");
  EXPECT_EQ(refused(R"("budget":"max")"), "body.budget");
  EXPECT_EQ(refused(R"("max_tokens":-1)"), "body.max_tokens");
  EXPECT_EQ(refused(R"("max_tokens":1.5)"), "body.max_tokens");
  EXPECT_EQ(refused(R"("query_timestamp":"now")"), "body.query_timestamp");
  EXPECT_EQ(refused(R"("tags":["a"],"tag_groups":[])"), "body.tag_groups");
  EXPECT_EQ(refused(R"("tags_match":"some")"), "body.tags_match");
  EXPECT_EQ(refused(R"("tag_groups":[{}])"), "body.tag_groups[0]");
  EXPECT_EQ(refused(R"("tag_groups":[{"and":[7]}])"), "body.tag_groups[0].and[0]");
  EXPECT_EQ(refused(R"("min_scores":{"reranker":0.5})"), "body.min_scores.reranker");
  EXPECT_EQ(refused(R"("min_scores":{"final":"x"})"), "body.min_scores.final");
  EXPECT_EQ(refused(R"("include":{"chunks":7})"), "body.include.chunks");
  EXPECT_EQ(refused(R"("temporal_window":{})"), "body.temporal_window");
}

TEST(ReflectBody, IsRead) {
  const ReflectRequest request = read(read_reflect(object(R"({"query":"Should I?","context":"tea",
      "fact_types":["observation"],"max_tokens":7,"include":{"facts":{}},
      "response_schema":{"type":"object"}})")));
  EXPECT_EQ(request.query.text, "Should I?\n\nAdditional context: tea");
  EXPECT_EQ(request.query.budget, memory::RecallBudget::kLow);
  EXPECT_EQ(request.query.answer_tokens_max, 7);
  EXPECT_THAT(request.query.types, ElementsAre(memory::MemoryType::kObservation));
  EXPECT_TRUE(request.with_facts);
  EXPECT_TRUE(request.query.response_schema.contains("type"));
  EXPECT_EQ(failure(read_reflect(object(R"({"query":"a","fact_types":[]})"))).param,
            "body.fact_types");
  EXPECT_EQ(failure(read_reflect(object(R"({"query":"a","fact_types":["opinion"]})"))).param,
            "body.fact_types");
  EXPECT_EQ(failure(read_reflect(object(R"({"query":"a","response_schema":"x"})"))).param,
            "body.response_schema");
}

// --- patches of memories ---

TEST(MemoryPatchBody, IsReadAndApplied) {
  memory::Memory memory;
  memory.text = "old";
  memory.context = "c";
  memory.times.occurred_start = 1;
  memory.embedding = {1};
  const MemoryPatch patch = read(read_memory_patch(object(R"({"text":"new","context":"",
      "occurred_start":null,"occurred_end":"2024-01-15","fact_type":"experience",
      "entities":["Bob"," bob","Al"]})")));
  EXPECT_TRUE(apply_patch(patch, 9, memory));
  EXPECT_EQ(memory.text, "new");
  EXPECT_TRUE(memory.embedding.empty()) << "it was of the old text";
  EXPECT_EQ(memory.context, "");
  EXPECT_EQ(memory.times.occurred_start, std::nullopt);
  EXPECT_EQ(memory.times.occurred_end, 1'705'276'800'000);
  EXPECT_EQ(memory.type, memory::MemoryType::kExperience);
  EXPECT_THAT(memory.entities, ElementsAre("Bob", "Al"));
  EXPECT_EQ(memory.edited, 9);
}

TEST(MemoryPatchBody, InvalidationAndBack) {
  memory::Memory memory;
  memory.embedding = {1};
  const MemoryPatch retire =
      read(read_memory_patch(object(R"({"state":"invalidated","reason":"wrong"})")));
  EXPECT_TRUE(apply_patch(retire, 5, memory));
  EXPECT_EQ(memory.invalidated, 5);
  EXPECT_EQ(memory.invalidation_reason, "wrong");
  EXPECT_EQ(memory.edited, std::nullopt) << "a state is no edit";
  EXPECT_FALSE(memory.embedding.empty());
  EXPECT_TRUE(apply_patch(retire, 6, memory));
  EXPECT_EQ(memory.invalidated, 5) << "it was already";

  const Result<void> edited =
      apply_patch(read(read_memory_patch(object(R"({"text":"x"})"))), 7, memory);
  ASSERT_FALSE(edited);
  EXPECT_THAT(edited.error().message, HasSubstr("revert it to 'valid' first"));
  EXPECT_TRUE(apply_patch(read(read_memory_patch(object(R"({"state":"valid"})"))), 8, memory));
  EXPECT_EQ(memory.invalidated, std::nullopt);
  EXPECT_EQ(memory.invalidation_reason, "");
}

TEST(MemoryPatchBody, WhatIsRefused) {
  EXPECT_EQ(failure(read_memory_patch(object("{}"))).message,
            "Provide at least one field to update.");
  EXPECT_EQ(failure(read_memory_patch(object(R"({"reason":"x"})"))).status, 422);
  EXPECT_EQ(failure(read_memory_patch(object(R"({"text":" "})"))).status, 400);
  for (const char* wrong : {R"({"state":"gone"})", R"({"fact_type":"observation"})",
                            R"({"occurred_end":"later"})", R"({"entities":"Bob"})"})
    EXPECT_EQ(failure(read_memory_patch(object(wrong))).status, 422) << wrong;
}

// --- banks ---

TEST(BankBody, BecomesAChange) {
  EXPECT_EQ(read(read_bank_change(object(R"({"name":"n","background":"b","mission":"",
                "disposition":{"skepticism":1,"literalism":2,"empathy":3},"disposition_empathy":5,
                "retain_mission":"r","enable_observations":false,"enable_reranking":false,
                "retain_chunk_size":null})"))),
            object(R"({"name":"n","mission":"b",
                "disposition":{"skepticism":1,"literalism":2,"empathy":5},
                "retain_mission":"r","enable_observations":false})"));
  EXPECT_EQ(read(read_bank_change(object(R"({"reflect_mission":"r","mission":"m"})"))),
            object(R"({"mission":"r"})"));
  EXPECT_EQ(read(read_bank_change({})), json::object());
}

TEST(BankBody, WhatIsRefused) {
  const auto refused = [](std::string_view body) {
    return failure(read_bank_change(object(body))).param;
  };
  EXPECT_EQ(refused(R"({"disposition":{"skepticism":1}})"), "body.disposition.literalism");
  EXPECT_EQ(refused(R"({"disposition_empathy":6})"), "body.disposition_empathy");
  EXPECT_EQ(refused(R"({"enable_reranking":true})"), "body.enable_reranking");
  EXPECT_EQ(refused(R"({"retain_custom_instructions":"x"})"), "body.retain_custom_instructions");
  EXPECT_EQ(refused(R"({"name":7})"), "body.name");
  EXPECT_EQ(failure(read_disposition({})).param, "body.disposition");
}

TEST(ConfigBody, NamesOfFieldsAndOfTheEnvironment) {
  const ConfigChange change = read(read_config_change(object(R"({"updates":{
      "HINDSIGHT_API_RETAIN_MISSION":"m","enable_observations":null,"reflect_mission":"r",
      "disposition_skepticism":5,"enable_graph_retrieval":false}})")));
  EXPECT_EQ(change.overrides, object(R"({"retain_mission":"m","enable_observations":null})"));
  EXPECT_EQ(change.bank, object(R"({"mission":"r","disposition":{"skepticism":5}})"));
  EXPECT_EQ(failure(read_config_change({})).status, 422);
  for (const char* wrong :
       {R"({"updates":{"disposition_empathy":9}})", R"({"updates":{"disposition_mood":1}})",
        R"({"updates":{"reflect_mission":1}})", R"({"updates":{"enable_reranking":true}})"})
    EXPECT_EQ(failure(read_config_change(object(wrong))).status, 400) << wrong;
}

// --- query strings ---

TEST(ListQuery, OfMemories) {
  const memory::MemoryQuery query = read(read_memory_query(
      Query("type=world&q=tea&state=invalidated&consolidation_state=PENDING&document_id=d&tags=a&"
            "tags=b&tags_match=exact&limit=0&offset=7")));
  EXPECT_THAT(query.types, ElementsAre(memory::MemoryType::kWorld));
  EXPECT_EQ(query.text, "tea");
  EXPECT_EQ(query.valid, false);
  EXPECT_EQ(query.consolidation, memory::ConsolidationState::kPending);
  EXPECT_EQ(query.document_id, "d");
  EXPECT_EQ(query.tags.tags, Tags({"a", "b"}));
  EXPECT_EQ(query.tags.match, TagsMatch::kExact);
  EXPECT_EQ(query.limit, 0);
  EXPECT_EQ(query.offset, 7);
  EXPECT_EQ(read(read_memory_query(Query(""))).limit, 100);
}

TEST(ListQuery, WhatIsRefused) {
  const auto status = [](std::string_view text) {
    return failure(read_memory_query(Query(text))).status;
  };
  EXPECT_EQ(status("limit=-1"), 422);
  EXPECT_EQ(status("limit=x"), 422);
  EXPECT_EQ(status("offset=-1"), 422);
  EXPECT_EQ(status("type=opinion"), 422);
  EXPECT_EQ(status("tags_match=x"), 422);
  EXPECT_EQ(status("state=x"), 400);
  EXPECT_EQ(status("consolidation_state=x"), 400);
  EXPECT_EQ(failure(read_memory_query(Query("limit=10001"))).param, "query.limit");
}

TEST(ListQuery, OfOperations) {
  const OperationQuery query =
      read(read_operation_query(Query("status=failed&type=retain&limit=100&exclude_parents=true")));
  EXPECT_EQ(query.status, memory::OperationStatus::kFailed);
  EXPECT_EQ(query.type, memory::OperationType::kRetain);
  EXPECT_EQ(query.page.limit, 100);
  EXPECT_TRUE(read(read_operation_query(Query("type=webhook_delivery"))).none);
  EXPECT_EQ(read(read_operation_query(Query(""))).page.limit, 20);
  EXPECT_EQ(failure(read_operation_query(Query("limit=0"))).status, 422);
}

TEST(TagPattern, StarsStandForAnything) {
  EXPECT_TRUE(tag_matches("", "a"));
  EXPECT_TRUE(tag_matches("*", ""));
  EXPECT_TRUE(tag_matches("User:*", "user:alice"));
  EXPECT_TRUE(tag_matches("*-admin", "role-admin-admin"));
  EXPECT_TRUE(tag_matches("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(tag_matches("user:*", "my user:alice"));
  EXPECT_FALSE(tag_matches("*-admin", "role-admin2"));
  EXPECT_FALSE(tag_matches("ab", "a"));
  EXPECT_FALSE(tag_matches("a", "ab"));
}

}  // namespace
}  // namespace windrow::api
