// The endpoints of memory banks at a whole server, with real banks on disk and scripted models.
#include "api/memory/memory_calls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/memory/memory_routes.h"
#include "api/testing/memory_rig.h"
#include "base/testing/eventually.h"
#include "http/testing/raw_client.h"
#include "memory/testing/scripted_models.h"
#include "store/posix_disk.h"
#include "store/testing/temporary_folder.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using memory::testing::ScriptedModels;
using ::testing::HasSubstr;
using testing::kBank;
using testing::MemoryCallsTest;
using ::testing::Not;
using testing::Reply;

// What a model of consolidation and of reflect says: one observation of all facts that it is shown,
// or an answer.
memory::ChatOutcome answer(const memory::ChatCall& call) {
  if (!call.schema.contains("properties")) return memory::ChatReply{.text = "From memory: yes."};
  const json::object& members = call.schema.at("properties").as_object();
  if (members.contains("structured_output")) {
    return memory::ChatReply{.text = R"({"text":"yes","structured_output":{"answer":true}})",
                             .usage = {.prompt_tokens = 7, .completion_tokens = 2}};
  }
  return memory::ChatReply{
      .text = R"({"creates":[{"text":"Alice likes hot drinks","source_fact_ids":["F1"],
                  "reason":"new"}],"updates":[],"deletes":[]})"};
}

TEST_F(MemoryCallsTest, WhatWasRetainedIsListedAndRecalled) {
  open();
  const json::value kept = good("POST", fmt::format("{}/memories", kBank), R"({"items":[
      {"content":"Alice loves programming in Python","tags":["user:alice"],
       "timestamp":"2024-01-15T10:30:00Z","entities":[{"text":"Alice"}]},
      {"content":"Bob enjoys hiking"}]})");
  EXPECT_EQ(kept, json::parse(R"({"success":true,"bank_id":"team","items_count":2,"async":false,
      "usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0,"cached_tokens":0,
               "thoughts_tokens":0}})"));

  const json::value list = good("GET", fmt::format("{}/memories/list?limit=1", kBank));
  EXPECT_EQ(list.at("total"), 2);
  EXPECT_EQ(list.at("limit"), 1);
  EXPECT_EQ(list.at("items").as_array().size(), 1U);

  const json::value found = good("POST", fmt::format("{}/memories/recall", kBank),
                                 R"({"query":"What does Alice like?","trace":true})");
  ASSERT_EQ(found.at("results").as_array().size(), 1U);
  const json::value& alice = found.at("results").at(0);
  EXPECT_EQ(alice.at("text"), "Alice loves programming in Python");
  EXPECT_EQ(alice.at("type"), "world");
  EXPECT_EQ(alice.at("tags"), json::parse(R"(["user:alice"])"));
  EXPECT_EQ(alice.at("mentioned_at"), "2024-01-15T10:30:00+00:00");
  EXPECT_TRUE(alice.at("scores").at("final").is_number());
  EXPECT_EQ(found.at("entities").at("Alice").at("canonical_name"), "Alice");
  EXPECT_TRUE(found.at("trace").is_object());

  const json::value none = good("POST", fmt::format("{}/memories/recall", kBank),
                                R"({"query":"Alice","tags":["user:bob"],"tags_match":"any_strict",
                                    "include":{"entities":null}})");
  EXPECT_TRUE(none.at("results").as_array().empty());
  EXPECT_FALSE(none.as_object().contains("entities"));
}

TEST_F(MemoryCallsTest, ReadsOfABankThatIsNotThereFindNothingAndMakeNone) {
  open();
  EXPECT_EQ(good("GET", fmt::format("{}/memories/list", kBank)).at("total"), 0);
  EXPECT_EQ(good("POST", fmt::format("{}/memories/recall", kBank), R"({"query":"a"})"),
            json::parse(R"({"results":[],"entities":{}})"));
  EXPECT_EQ(good("GET", fmt::format("{}/stats", kBank)).at("total_nodes"), 0);
  EXPECT_TRUE(good("GET", fmt::format("{}/operations", kBank)).at("operations").as_array().empty());
  EXPECT_EQ(good("GET", fmt::format("{}/tags", kBank)).at("total"), 0);
  EXPECT_EQ(good("GET", fmt::format("{}/entities", kBank)).at("total"), 0);
  EXPECT_EQ(good("GET", fmt::format("{}/documents", kBank)).at("total"), 0);
  EXPECT_TRUE(good("GET", fmt::format("{}/observations/scopes", kBank)).at("scopes").is_array());
  EXPECT_EQ(good("GET", fmt::format("{}/config", kBank)).at("overrides"), json::object());
  EXPECT_EQ(good("DELETE", std::string(kBank)).at("deleted_count"), 0);
  EXPECT_EQ(ask("GET", fmt::format("{}/profile", kBank)).status, 404);
  EXPECT_EQ(ask("PATCH", std::string(kBank), "{}").status, 404);
  EXPECT_EQ(ask("POST", fmt::format("{}/consolidate", kBank)).status, 404);
  EXPECT_TRUE(good("GET", "/v1/default/banks").at("banks").as_array().empty());
}

TEST_F(MemoryCallsTest, ABankIsMadeChangedAndDeleted) {
  open();
  const json::value made = good("PUT", std::string(kBank),
                                R"({"name":"Test Agent","background":"I help.",
                                    "disposition_empathy":5,"retain_mission":"only facts"})");
  EXPECT_EQ(made, json::parse(R"({"bank_id":"team","name":"Test Agent",
      "disposition":{"skepticism":3,"literalism":3,"empathy":5},"mission":"I help.",
      "background":"I help."})"));
  EXPECT_EQ(good("GET", fmt::format("{}/profile", kBank)), made);
  EXPECT_EQ(good("PATCH", std::string(kBank), R"({"reflect_mission":"I answer."})").at("mission"),
            "I answer.");
  EXPECT_EQ(good("PUT", fmt::format("{}/profile", kBank),
                 R"({"disposition":{"skepticism":1,"literalism":1,"empathy":1}})")
                .at("disposition")
                .at("skepticism"),
            1);

  json::value config = good("PATCH", fmt::format("{}/config", kBank),
                            R"({"updates":{"HINDSIGHT_API_ENABLE_OBSERVATIONS":false,
                                           "retain_mission":null,"reflect_mission":"r"}})");
  EXPECT_EQ(config.at("config").at("enable_observations"), false);
  EXPECT_EQ(config.at("overrides"),
            json::parse(R"({"enable_observations":false,"reflect_mission":"r"})"));
  EXPECT_EQ(good("GET", fmt::format("{}/config", kBank)), config);
  const Reply unknown =
      ask("PATCH", fmt::format("{}/config", kBank), R"({"updates":{"no_such_setting":1}})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(detail(unknown), HasSubstr("no_such_setting"));
  config = good("DELETE", fmt::format("{}/config", kBank));
  EXPECT_EQ(config.at("overrides"), json::object());
  EXPECT_EQ(config.at("config").at("disposition_skepticism"), 3);

  retain("one");
  const json::value banks = good("GET", "/v1/default/banks").at("banks");
  ASSERT_EQ(banks.as_array().size(), 1U);
  EXPECT_EQ(banks.at(0).at("bank_id"), "team");
  EXPECT_EQ(banks.at(0).at("fact_count"), 1);

  const json::value gone = good("DELETE", std::string(kBank));
  EXPECT_EQ(gone.at("success"), true);
  EXPECT_EQ(gone.at("deleted_count"), 1);
  EXPECT_THAT(std::string(gone.at("message").as_string()), HasSubstr("'team'"));
  EXPECT_EQ(good("GET", fmt::format("{}/memories/list", kBank)).at("total"), 0);
}

TEST_F(MemoryCallsTest, VectorsFindAnEditedMemoryByItsNewText) {
  models_.on_embed = memory::testing::embed_by_words({"tea", "coffee"});
  open();
  retain("Alice likes tea");
  good("PATCH", fmt::format("{}/memories/{}", kBank, first_id()),
       R"({"text":"Alice likes coffee"})");
  const json::value found =
      good("POST", fmt::format("{}/memories/recall", kBank), R"({"query":"coffee"})");
  EXPECT_EQ(found.at("results").at(0).at("scores").at("semantic"), 1.0);
}

TEST_F(MemoryCallsTest, AMemoryIsShownEditedRetiredAndBroughtBack) {
  open();
  retain("Alice likes tea", R"(,"observation_scopes":"per_tag","tags":["a"])");
  const std::string path = fmt::format("{}/memories/{}", kBank, first_id());
  EXPECT_EQ(good("GET", path).at("observation_scopes"), "per_tag");
  const json::value edited =
      good("PATCH", path, R"({"text":"Alice likes coffee","entities":["Alice"]})");
  EXPECT_EQ(edited.at("text"), "Alice likes coffee");
  EXPECT_EQ(edited.at("entities"), json::parse(R"(["Alice"])"));
  EXPECT_TRUE(edited.at("edited_at").is_string());
  EXPECT_EQ(items("?q=COFFEE").as_array().size(), 1U);

  EXPECT_EQ(good("PATCH", path, R"({"state":"invalidated","reason":"wrong"})").at("state"),
            "invalidated");
  EXPECT_TRUE(items().as_array().empty());
  EXPECT_EQ(items("?state=invalidated").at(0).at("invalidation_reason"), "wrong");
  const Reply refused = ask("PATCH", path, R"({"text":"x"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(detail(refused), HasSubstr("revert it to 'valid' first"));
  EXPECT_EQ(good("PATCH", path, R"({"state":"valid"})").at("state"), "valid");
  EXPECT_EQ(good("GET", path + "/history"), json::array());

  EXPECT_EQ(ask("GET", fmt::format("{}/memories/xyz", kBank)).status, 400);
  const Reply missing =
      ask("GET", fmt::format("{}/memories/5c1f0000-0000-4000-8000-000000000000", kBank));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(detail(missing), "Memory unit '5c1f0000-0000-4000-8000-000000000000' not found");
}

TEST_F(MemoryCallsTest, FactsBecomeAnObservation) {
  models_.on_chat = answer;
  open();
  retain("Alice likes tea", R"(,"tags":["a"])");
  EXPECT_EQ(good("GET", fmt::format("{}/stats", kBank)).at("pending_consolidation"), 1);
  consolidate();

  const std::string id = first_id("?type=observation");
  ASSERT_NE(id, "");
  const json::value observation = good("GET", fmt::format("{}/memories/{}", kBank, id));
  EXPECT_EQ(observation.at("text"), "Alice likes hot drinks");
  EXPECT_EQ(observation.at("tags"), json::parse(R"(["a"])"));
  EXPECT_EQ(observation.at("source_memories").at(0).at("text"), "Alice likes tea");
  EXPECT_EQ(ask("PATCH", fmt::format("{}/memories/{}", kBank, id), R"({"text":"x"})").status, 400);
  const json::value stats = good("GET", fmt::format("{}/stats", kBank));
  EXPECT_EQ(stats.at("total_observations"), 1);
  EXPECT_EQ(stats.at("pending_consolidation"), 0);
  EXPECT_TRUE(stats.at("last_consolidated_at").is_string());
  EXPECT_EQ(good("GET", fmt::format("{}/observations/scopes", kBank)),
            json::parse(R"({"scopes":[{"tags":["a"],"count":1}]})"));
  EXPECT_EQ(good("GET", fmt::format("{}/tags?q=A", kBank)).at("items").at(0).at("tag"), "a");
  EXPECT_EQ(items("?consolidation_state=done").as_array().size(), 1U);

  const std::string fact = first_id("?type=world");
  EXPECT_EQ(good("DELETE", fmt::format("{}/memories/{}/observations", kBank, fact)),
            json::parse(R"({"deleted_count":1})"));
  EXPECT_EQ(items("?consolidation_state=pending").as_array().size(), 1U);
  consolidate();
  EXPECT_EQ(good("DELETE", fmt::format("{}/observations", kBank)).at("deleted_count"), 1);
  EXPECT_EQ(good("DELETE", fmt::format("{}/memories?type=world", kBank)).at("success"), true);
  EXPECT_TRUE(items().as_array().empty());
}

TEST_F(MemoryCallsTest, OperationsAreListedCancelledRetriedAndDeleted) {
  open();
  constexpr std::string_view kId = "5c1f0000-0000-4000-8000-000000000001";
  const std::string body =
      fmt::format(R"({{"items":[{{"content":"a"}}],"async":true,"operation_id":"{}"}})", kId);
  const json::value queued = good("POST", fmt::format("{}/memories", kBank), body);
  EXPECT_EQ(queued, json::parse(fmt::format(R"({{"success":true,"bank_id":"team","items_count":1,
      "async":true,"operation_id":"{}"}})",
                                            kId)));
  EXPECT_EQ(good("POST", fmt::format("{}/memories", kBank), body), queued) << "it is the same one";

  const std::string path = fmt::format("{}/operations/{}", kBank, kId);
  windrow::testing::eventually(
      [&] { return std::string(good("GET", path).at("status").as_string()); },
      ::testing::StrEq("completed"));
  EXPECT_EQ(items().as_array().size(), 1U) << "it was done once";
  EXPECT_EQ(good("GET", path).at("operation_type"), "retain");
  EXPECT_TRUE(good("GET", path + "?include_payload=true").as_object().contains("task_payload"));
  const json::value list = good("GET", fmt::format("{}/operations?status=completed", kBank));
  EXPECT_EQ(list.at("total"), 1);
  EXPECT_EQ(list.at("operations").at(0).at("task_type"), "retain");
  EXPECT_EQ(good("GET", fmt::format("{}/operations?type=webhook_delivery", kBank)).at("total"), 0);

  EXPECT_EQ(ask("DELETE", path).status, 409) << "it has ended";
  EXPECT_EQ(ask("POST", path + "/retry").status, 409);
  EXPECT_EQ(good("DELETE", path + "/delete").at("message"),
            json::value(fmt::format("Operation {} deleted", kId)));
  EXPECT_EQ(good("GET", path).at("status"), "not_found");
  const Reply missing = ask("DELETE", path);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(detail(missing), fmt::format("Operation {} not found for bank team", kId));
  EXPECT_EQ(ask("GET", fmt::format("{}/operations/x", kBank)).status, 400);
}

TEST_F(MemoryCallsTest, ADocumentHasItsTextAndItsFacts) {
  open();
  retain("Test document content", R"(,"document_id":"a/b 1","tags":["x"])");
  const std::string path = fmt::format("{}/documents/a%2Fb%201", kBank);
  const json::value document = good("GET", path);
  EXPECT_EQ(document.at("id"), "a/b 1");
  EXPECT_EQ(document.at("original_text"), "Test document content");
  EXPECT_EQ(document.at("nodes_by_fact_type").at("world"), 1);
  const json::value chunks = good("GET", path + "/chunks");
  ASSERT_EQ(chunks.at("total"), 1);
  const std::string_view chunk = chunks.at("items").at(0).at("chunk_id").as_string();
  EXPECT_EQ(good("GET", fmt::format("/v1/default/chunks/{}", "team_a%2Fb%201_0")),
            chunks.at("items").at(0))
      << chunk;
  EXPECT_EQ(good("PATCH", path, R"({"tags":["y"]})"), json::parse(R"({"success":true})"));
  EXPECT_EQ(items("?tags=y&tags_match=exact").as_array().size(), 1U);
  EXPECT_EQ(good("GET", fmt::format("{}/documents?tags=y", kBank)).at("total"), 1);
  EXPECT_EQ(good("GET", fmt::format("{}/documents?tags=x", kBank)).at("total"), 0);
  EXPECT_EQ(good("GET", fmt::format("{}/documents?q=A/B", kBank)).at("items").at(0).at("tags"),
            json::parse(R"(["y"])"));
  const Reply nothing = ask("PATCH", path, "{}");
  EXPECT_EQ(nothing.status, 422);
  EXPECT_EQ(detail(nothing), "At least one field (tags) must be provided");

  const json::value gone = good("DELETE", path);
  EXPECT_EQ(gone.at("document_id"), "a/b 1");
  EXPECT_EQ(gone.at("memory_units_deleted"), 1);
  EXPECT_EQ(detail(ask("GET", path)), "Document not found");
  EXPECT_EQ(ask("GET", "/v1/default/chunks/team_a_0").status, 404);
}

TEST_F(MemoryCallsTest, EntitiesAreTheNamesOfFacts) {
  open();
  retain("one", R"(,"entities":[{"text":"Alice"},{"text":"Google"}])");
  retain("two", R"(,"entities":[{"text":"alice"}])");
  const json::value list = good("GET", fmt::format("{}/entities", kBank));
  EXPECT_EQ(list.at("total"), 2);
  const json::value& alice = list.at("items").at(0);
  EXPECT_EQ(alice.at("mention_count"), 2);
  const std::string_view id = alice.at("id").as_string();
  const json::value detail_of = good("GET", fmt::format("{}/entities/{}", kBank, id));
  EXPECT_EQ(detail_of.at("canonical_name"), alice.at("canonical_name"));
  EXPECT_EQ(detail_of.at("observations"), json::array());
  EXPECT_EQ(ask("GET", fmt::format("{}/entities/x", kBank)).status, 400);
  EXPECT_EQ(
      ask("GET", fmt::format("{}/entities/5c1f0000-0000-4000-8000-000000000001", kBank)).status,
      404);
}

TEST_F(MemoryCallsTest, ReflectAnswersFromMemory) {
  models_.on_chat = answer;
  open();
  retain("Alice likes tea");
  const json::value plain = good("POST", fmt::format("{}/reflect", kBank),
                                 R"({"query":"Does Alice like tea?","include":{"facts":{}}})");
  EXPECT_EQ(plain.at("text"), "From memory: yes.");
  EXPECT_EQ(plain.at("based_on").at("memories").at(0).at("text"), "Alice likes tea");
  EXPECT_FALSE(plain.as_object().contains("structured_output"));
  EXPECT_THAT(models_.chats().back().user, HasSubstr("1. Alice likes tea"));

  const json::value structured = good("POST", fmt::format("{}/reflect", kBank),
                                      R"({"query":"tea?","response_schema":{"type":"object",
                                          "properties":{"answer":{"type":"boolean"}}}})");
  EXPECT_EQ(structured.at("text"), "yes");
  EXPECT_EQ(structured.at("structured_output"), json::parse(R"({"answer":true})"));
  EXPECT_EQ(structured.at("usage").at("total_tokens"), 9);
  EXPECT_FALSE(structured.as_object().contains("based_on"));
}

TEST_F(MemoryCallsTest, ABankIdMayHaveAnyCharacters) {
  open();
  good("PUT", "/v1/default/banks/a%2Fb%20%C3%A4", R"({"name":"n"})");
  EXPECT_EQ(good("GET", "/v1/default/banks/a%2Fb%20%C3%A4/profile").at("bank_id"), "a/b ä");
  EXPECT_EQ(ask("PUT", "/v1/default/banks/a%0Ab", "{}").status, 422);
  EXPECT_EQ(ask("PUT", "/v1/default/banks/%FF", "{}").status, 422);
}

TEST_F(MemoryCallsTest, PagesOfOtherOriginsLearnWhichMethodsAPathTakes) {
  open();
  const Reply reply =
      rig_->ask(fmt::format("OPTIONS {} HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n"
                            "Access-Control-Request-Method: PATCH\r\nContent-Length: 0\r\n\r\n",
                            kBank));
  EXPECT_EQ(reply.header("Allow"), "PUT, PATCH, DELETE");
}

TEST_F(MemoryCallsTest, PagesOfTheService) {
  open({}, false);
  EXPECT_EQ(ask("GET", "/health/ready").status, 503);
  EXPECT_EQ(ask("POST", fmt::format("{}/memories", kBank), R"({"items":[{"content":"a"}]})").status,
            503);
  service_->start(models_);
  EXPECT_EQ(good("GET", "/health/ready").at("status"), "healthy");
  EXPECT_EQ(good("GET", "/health/live").at("status"), "alive");
  EXPECT_EQ(good("GET", "/version").at("api_version"), "0.9.1");
  EXPECT_EQ(good("GET", "/version").at("features").as_object().size(), 11U);
  EXPECT_THAT(ask("GET", "/metrics").body,
              HasSubstr("windrow_memory_requests{waits_for=\"models\"} 0\n"));
}

}  // namespace
}  // namespace windrow::api
