#include "api/memory/memory_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

namespace windrow::api {
namespace {

namespace json = boost::json;

memory::Memory fact(std::string id, std::string text, memory::UnixMs mentioned) {
  memory::Memory memory;
  memory.id = {std::move(id)};
  memory.text = std::move(text);
  memory.times.mentioned = mentioned;
  return memory;
}

TEST(MemoryJson, AnItemOfAListHasAllMembers) {
  memory::Memory memory = fact("m1", "Alice likes tea", 1'705'314'600'000);
  memory.times.event = 0;
  memory.entities = {"Alice", "tea"};
  memory.tags = memory::Tags({"b", "a"});
  memory.metadata = {{"k", "v"}};
  EXPECT_EQ(memory_item(memory), json::parse(R"({"id":"m1","text":"Alice likes tea","context":"",
      "date":"1970-01-01T00:00:00+00:00","fact_type":"world","document_id":null,
      "mentioned_at":"2024-01-15T10:30:00+00:00","occurred_start":null,"occurred_end":null,
      "entities":"Alice, tea","chunk_id":null,"proof_count":1,"tags":["a","b"],
      "metadata":{"k":"v"},"consolidated_at":null,"consolidation_failed_at":null,"state":"valid",
      "invalidation_reason":null,"invalidated_at":null,"edited_at":null,
      "updated_at":"1970-01-01T00:00:00+00:00","source_memory_ids":[]})"));
}

TEST(MemoryJson, ADetailShowsScopesAsTheyWereGiven) {
  memory::Memory memory = fact("m1", "a", 0);
  EXPECT_TRUE(memory_detail(memory, {}).at("observation_scopes").is_null());
  memory.scopes.kind = memory::ScopeKind::kPerTag;
  EXPECT_EQ(memory_detail(memory, {}).at("observation_scopes"), "per_tag");
  memory.scopes = {memory::ScopeKind::kExplicit, {memory::Tags({"a"}), memory::Tags()}};
  EXPECT_EQ(memory_detail(memory, {}).at("observation_scopes"), json::parse(R"([["a"],[]])"));
  EXPECT_FALSE(memory_detail(memory, {}).contains("source_memories"));
}

TEST(MemoryJson, AnObservationHasItsSourcesNewestFirst) {
  memory::Memory observation = fact("o", "sum", 0);
  observation.type = memory::MemoryType::kObservation;
  observation.sources = {{"f1"}, {"f2"}, {"f3"}};
  const json::object detail =
      memory_detail(observation, std::vector{fact("f1", "one", 1), fact("f2", "two", 2)});
  EXPECT_EQ(detail.at("source_memory_ids"), json::parse(R"(["f1","f2","f3"])"));
  EXPECT_EQ(detail.at("source_memories").as_array().size(), 2U);
  EXPECT_EQ(detail.at("source_memories").at(0).at("text"), "two");
  EXPECT_EQ(detail.at("history"), json::array());
}

TEST(MemoryJson, AHistoryIsOldestFirstWithAllSourcesOfThatTime) {
  memory::Memory observation = fact("o", "third", 0);
  observation.sources = {{"f1"}, {"f2"}, {"f3"}};
  const std::vector<memory::ObservationChange> changes{
      {.changed = 2000, .previous_text = "second", .new_sources = {{"f3"}}},
      {.changed = 1000, .previous_text = "first", .new_sources = {{"f2"}}}};
  const json::array history = history_json(observation, changes, std::vector{fact("f1", "one", 1)});
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].at("previous_text"), "first");
  EXPECT_EQ(history[0].at("changed_at"), "1970-01-01T00:00:01+00:00");
  EXPECT_EQ(history[0].at("new_source_memory_ids"), json::parse(R"(["f2"])"));
  EXPECT_EQ(history[0].at("source_facts"), json::parse(R"([
      {"id":"f1","text":"one","type":"world","context":null,"is_new":false},
      {"id":"f2","text":null,"type":null,"context":null,"is_new":true}])"));
  EXPECT_EQ(history[1].at("previous_text"), "second");
  EXPECT_EQ(history[1].at("source_facts").as_array().size(), 3U);
}

TEST(MemoryJson, ARecallLeavesOutWhatIsNotThere) {
  memory::RecallResult result;
  memory::Memory memory = fact("m", "a", 0);
  memory.times.mentioned.reset();
  memory.entities = {"Alice"};
  result.memories.push_back({memory, {.final_score = 0.5, .keyword = 2}});
  EXPECT_EQ(
      recall_json(result, true),
      json::parse(R"({"results":[{"id":"m","text":"a","type":"world","entities":["Alice"],
      "tags":[],"scores":{"final":0.5,"keyword":2E0}}],"entities":{"Alice":{"entity_id":")" +
                  entity_id_of("Alice") + R"(","canonical_name":"Alice","observations":[]}}})"));
  const json::object without = recall_json(result, false);
  EXPECT_FALSE(without.contains("entities"));
  EXPECT_FALSE(without.at("results").at(0).as_object().contains("entities"));
  EXPECT_TRUE(recall_json({}, true).at("entities").as_object().empty());

  result.chunks["c"] = {.id = "c", .index = 3, .text = "x"};
  result.source_facts["f"] = fact("f", "b", 0);
  const json::object whole = recall_json(result, true);
  EXPECT_EQ(whole.at("chunks").at("c"),
            json::parse(R"({"id":"c","text":"x","chunk_index":3,"truncated":false})"));
  EXPECT_EQ(whole.at("source_facts").at("f").at("text"), "b");
  EXPECT_EQ(whole.at("source_facts_truncated"), false);
}

TEST(MemoryJson, AnEntityHasOneIdInAnyCase) {
  EXPECT_EQ(entity_id_of("Alice"), entity_id_of("ALICE"));
  EXPECT_NE(entity_id_of("Alice"), entity_id_of("Bob"));
  EXPECT_THAT(entity_id_of("Alice"),
              ::testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+-8[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
  EXPECT_EQ(entity_id_of("Alice").size(), 36U);
}

TEST(MemoryJson, ABankHasOneMission) {
  memory::Bank bank{.id = {"b"}, .background = "old form"};
  EXPECT_EQ(bank_profile(bank), json::parse(R"({"bank_id":"b","name":"b",
      "disposition":{"skepticism":3,"literalism":3,"empathy":3},"mission":"old form",
      "background":"old form"})"));
  bank.mission = "m";
  bank.name = "n";
  EXPECT_EQ(bank_profile(bank).at("background"), "m");
  EXPECT_EQ(bank_item({bank, 7}).at("fact_count"), 7);
  EXPECT_EQ(config_json(bank, {}, {}).at("config").at("disposition_empathy"), 3);
  EXPECT_EQ(config_json(bank, {}, {}).at("overrides"), (json::object{{"reflect_mission", "m"}}));
}

TEST(MemoryJson, Stats) {
  memory::BankStats stats{.facts_world = 2, .facts_experience = 1, .observations = 4};
  stats.operations_by_status = {{"failed", 3}};
  const json::object object = stats_json({"b"}, stats);
  EXPECT_EQ(object.at("total_nodes"), 7);
  EXPECT_EQ(object.at("nodes_by_fact_type").at("observation"), 4);
  EXPECT_EQ(object.at("pending_operations"), 0);
  EXPECT_EQ(object.at("failed_operations"), 3);
  EXPECT_FALSE(object.contains("last_consolidated_at"));
  stats.last_consolidated = 0;
  EXPECT_TRUE(stats_json({"b"}, stats).contains("last_consolidated_at"));
}

TEST(MemoryJson, AnOperation) {
  memory::Operation operation{.id = {"o"}, .type = memory::OperationType::kRetain};
  operation.payload["items"] = json::array{1, 2};
  EXPECT_EQ(operation_item(operation),
            json::parse(R"({"id":"o","task_type":"retain","items_count":2,
      "created_at":"1970-01-01T00:00:00+00:00","updated_at":"1970-01-01T00:00:00+00:00",
      "status":"pending","error_message":null,"retry_count":0,"next_retry_at":null})"));
  operation.status = memory::OperationStatus::kProcessing;
  operation.result = json::parse(R"({"progress":{"processed":3,"total":5,"created":2,"note":"x"},
                                     "more":1})")
                         .as_object();
  const json::object detail = operation_detail(operation, true);
  EXPECT_EQ(detail.at("progress"),
            json::parse(R"({"stage":"retain","at":"1970-01-01T00:00:00+00:00",
      "processed":3,"total":5,"detail":{"created":2}})"));
  EXPECT_EQ(detail.at("result_metadata"), (json::object{{"more", 1}}));
  EXPECT_EQ(detail.at("task_payload"), operation.payload);
  EXPECT_FALSE(operation_detail(operation, false).contains("task_payload"));
  EXPECT_FALSE(detail.contains("error_message"));
}

TEST(MemoryJson, ADocument) {
  const memory::Document document{.id = "d", .text = "abc", .memory_count = 2};
  const json::object item = document_item({"b"}, document);
  EXPECT_EQ(item.at("text_length"), 3);
  EXPECT_EQ(item.at("content_hash"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(item.at("document_metadata").is_null());
  const json::object detail = document_detail({"b"}, document, {.world = 2});
  EXPECT_EQ(detail.at("original_text"), "abc");
  EXPECT_EQ(detail.at("nodes_by_fact_type").at("world"), 2);
}

TEST(MemoryJson, UsageCountsThoughtsApart) {
  EXPECT_EQ(
      usage_json(
          {.prompt_tokens = 10, .completion_tokens = 7, .cached_tokens = 4, .reasoning_tokens = 3}),
      json::parse(R"({"input_tokens":10,"output_tokens":4,"total_tokens":14,
                            "cached_tokens":4,"thoughts_tokens":3})"));
}

}  // namespace
}  // namespace windrow::api
