#include "api/storage/response_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace windrow::api {
namespace {

namespace json = boost::json;

TEST(StoredItems, ItemsWithoutAnIdGetOneByTheirKindAndPlace) {
  const StoredItems stored = stored_items("resp_5c0e", json::parse(R"([
      {"type":"message","role":"user","content":"a"},
      {"type":"function_call","id":"fc_mine","call_id":"c","name":"f","arguments":"{}"},
      {"type":"function_call","id":"","call_id":"c","name":"f","arguments":"{}"},
      {"type":"function_call_output","id":null,"call_id":"c","output":"b"},
      {"type":"reasoning","id":7,"content":[]}])")
                                                           .as_array());
  EXPECT_EQ(stored.ids, (std::vector<std::string>{"msg_5c0ein0", "fc_mine", "fc_5c0ein2",
                                                  "fco_5c0ein3", "rs_5c0ein4"}));
  const json::array items = json::parse(stored.text).as_array();
  ASSERT_EQ(items.size(), stored.ids.size());
  for (size_t i = 0; i < items.size(); ++i)
    EXPECT_EQ(items[i].at("id"), json::value(stored.ids[i]));
  EXPECT_EQ(items[0].at("content"), "a");
}

TEST(StoredItems, NoneAreAnEmptyArray) {
  EXPECT_EQ(stored_items("resp_1", {}).text, "[]");
  EXPECT_TRUE(stored_items("resp_1", {}).ids.empty());
}

}  // namespace

namespace {

constexpr size_t kPlenty = size_t{1} << 20;

// One whose input says `said` and whose output has the item "msg_ID".
StoredResponse response(const std::string& id, const std::string& previous = "",
                        const std::string& said = "hi") {
  const json::value item{{"type", "message"}, {"role", "user"}, {"content", said}};
  return {.id = "resp_" + id,
          .body = fmt::format(R"({{"id":"resp_{0}","output":[{{"id":"msg_{0}"}}]}})", id),
          .previous_id = previous.empty() ? "" : "resp_" + previous,
          .input = stored_items("resp_" + id, {item}),
          .output_ids = {"msg_" + id}};
}

std::vector<std::string> ids_of(const std::variant<json::array, llm::Failure>& items) {
  if (const auto* failure = std::get_if<llm::Failure>(&items)) return {failure->code};
  std::vector<std::string> ids;
  for (const json::value& item : std::get<json::array>(items))
    ids.emplace_back(item.at("id").as_string());
  return ids;
}

using Ids = std::vector<std::string>;

TEST(ResponseStore, WhatIsNestedAsDeepAsABodyMayBeIsKept) {
  ResponseStore store(1 << 20);
  std::string deep(60, '[');
  deep.append(60, ']');
  json::object item{{"type", "message"}, {"role", "user"}};
  item["content"] = json::parse(deep, {}, {.max_depth = 256});
  store.keep("k", {.id = "resp_deep",
                   .body = R"({"output":[{"type":"message","id":"msg_a"}],"tools":)" + deep + "}",
                   .input = stored_items("resp_deep", {std::move(item)}),
                   .output_ids = {"msg_a"}});
  EXPECT_TRUE(std::holds_alternative<json::array>(store.conversation("k", "resp_deep")));
  EXPECT_TRUE(std::holds_alternative<json::value>(store.item("k", "msg_a")));
}

// It happens on the thread that serves everybody.
TEST(ResponseStore, KeepingReadsNoText) {
  ResponseStore store(kPlenty);
  store.keep("k", {.id = "resp_1",
                   .body = "never read",
                   .input = {.text = "nor this", .ids = {"msg_1in0"}},
                   .output_ids = {"msg_1"}});
  EXPECT_EQ(std::get<std::string>(store.body("k", "resp_1")), "never read");
  EXPECT_GT(store.bytes(), 0U);
}

TEST(ResponseStore, AConversationThatIsTooLongToReadIsRefusedBeforeItIsRead) {
  ResponseStore store(size_t{1} << 30);
  std::string previous;
  for (int turn = 0; turn < 5; ++turn) {
    const std::string id = "resp_" + std::to_string(turn);
    store.keep("k", {.id = id,
                     .body = R"({"output":[],"text":")" + std::string(8 << 20, 'a') + "\"}",
                     .previous_id = previous});
    previous = id;
  }
  EXPECT_TRUE(std::holds_alternative<json::array>(store.conversation("k", "resp_2")));
  const auto refused = store.conversation("k", "resp_4");
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(refused));
  EXPECT_EQ(std::get<llm::Failure>(refused).status, 413);
}

TEST(ResponseStore, AConversationIsTheItemsOfAllTurnsInOrder) {
  ResponseStore store(kPlenty);
  store.keep("k", response("1"));
  store.keep("k", response("2", "1"));
  store.keep("k", response("3", "2"));
  EXPECT_EQ(ids_of(store.conversation("k", "resp_3")),
            (Ids{"msg_1in0", "msg_1", "msg_2in0", "msg_2", "msg_3in0", "msg_3"}));
  EXPECT_EQ(ids_of(store.input_items("k", "resp_3")),
            (Ids{"msg_1in0", "msg_1", "msg_2in0", "msg_2", "msg_3in0"}))
      << "all that the third answer was made from";
  EXPECT_EQ(ids_of(store.conversation("k", "resp_1")), (Ids{"msg_1in0", "msg_1"}));
}

TEST(ResponseStore, ItemsAreFoundByTheirIdsAndTheNewestOfOneIdCounts) {
  ResponseStore store(kPlenty);
  for (const auto& [id, said] : {std::pair("1", "hi"), std::pair("2", "newer")}) {
    StoredResponse mine = response(id);
    mine.input = stored_items("resp_", {{{"type", "message"}, {"id", "mine"}, {"content", said}}});
    store.keep("k", std::move(mine));
  }
  EXPECT_EQ(std::get<json::value>(store.item("k", "mine")).at("content"), "newer");
  EXPECT_EQ(std::get<json::value>(store.item("k", "msg_1")).at("id"), "msg_1");
  ASSERT_TRUE(store.erase("k", "resp_2"));
  EXPECT_EQ(std::get<json::value>(store.item("k", "mine")).at("content"), "hi");
  EXPECT_EQ(std::get<llm::Failure>(store.item("k", "msg_2")).code, "item_not_found");
}

TEST(ResponseStore, AKeySeesItsOwnAlone) {
  ResponseStore store(kPlenty);
  store.keep("alice", response("1"));
  EXPECT_EQ(std::get<llm::Failure>(store.body("bob", "resp_1")).status, 404);
  EXPECT_EQ(std::get<llm::Failure>(store.item("bob", "msg_1")).status, 404);
  EXPECT_EQ(std::get<llm::Failure>(store.conversation("bob", "resp_1")).code,
            "previous_response_not_found");
  EXPECT_FALSE(store.erase("bob", "resp_1"));
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("alice", "resp_1")));
}

// Room for so many of response().
size_t room_for(int count) {
  ResponseStore one(kPlenty);
  one.keep("k", response("1", "2"));
  return one.bytes() * static_cast<size_t>(count);
}

TEST(ResponseStore, TheOneUsedLongestAgoIsEvicted) {
  ResponseStore store(room_for(2));
  store.keep("k", response("1"));
  store.keep("k", response("2"));
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("k", "resp_1")));
  store.keep("k", response("3"));
  const auto evicted = store.body("k", "resp_2");
  ASSERT_TRUE(std::holds_alternative<llm::Failure>(evicted));
  EXPECT_EQ(
      std::get<llm::Failure>(evicted).message,
      "there is no response \"resp_2\": it was not stored under this key, was too large to keep, "
      "was deleted, or was evicted for newer ones: responses are kept in 0 MB of memory, which "
      "--keep-items-mb sets, until the server stops");
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("k", "resp_1")));
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("k", "resp_3")));
}

TEST(ResponseStore, TheEndOfAConversationIsEvictedBeforeItsBeginning) {
  ResponseStore store(room_for(3));
  store.keep("k", response("1"));
  store.keep("k", response("2", "1"));
  store.keep("k", response("x"));
  store.keep("k", response("y"));
  EXPECT_EQ(ids_of(store.conversation("k", "resp_2")), (Ids{"previous_response_not_found"}));
  EXPECT_EQ(ids_of(store.conversation("k", "resp_1")), (Ids{"msg_1in0", "msg_1"}));
}

TEST(ResponseStore, AKeyBelowItsShareLosesNothingToOneThatFloods) {
  ResponseStore store(room_for(4));
  store.keep("alice", response("a"));
  store.keep("alice", response("b"));
  for (int i = 0; i < 20; ++i)
    store.keep("bob", response(std::string(1, static_cast<char>('A' + i))));
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("alice", "resp_a")));
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("alice", "resp_b")));
  EXPECT_LE(store.bytes(), store.bytes_max());
}

TEST(ResponseStore, WhatIsLargerThanTheStoreIsNotKeptAndEvictsNothing) {
  ResponseStore store(room_for(2));
  store.keep("k", response("1"));
  store.keep("k", response("2", "", std::string(room_for(3), 'x')));
  EXPECT_TRUE(std::holds_alternative<llm::Failure>(store.body("k", "resp_2")));
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("k", "resp_1")));
}

// Clients put members of their own into items that they send back; these are kept as they came.
TEST(ResponseStore, UnreadMembersCountLikeAllOthers) {
  const auto bytes_with = [](const std::string& own) {
    ResponseStore store(kPlenty);
    StoredResponse one = response("1");
    one.input = stored_items("resp_1", {{{"type", "message"}, {"mine", {{"deep", own}}}}});
    store.keep("k", std::move(one));
    EXPECT_EQ(std::get<json::value>(store.item("k", "msg_1in0")).at("mine").at("deep"),
              json::value(own));
    return store.bytes();
  };
  constexpr size_t kMore = 5000;
  EXPECT_EQ(bytes_with(std::string(kMore, 'x')), bytes_with("") + kMore);
}

TEST(ResponseStore, OneWithoutMemoryKeepsNothingAndSaysSo) {
  ResponseStore store(0);
  store.keep("k", response("1"));
  EXPECT_FALSE(KeyedResponses(store, "k").keeps());
  EXPECT_EQ(std::get<llm::Failure>(store.conversation("k", "resp_1")).message,
            "there is no response \"resp_1\" to continue: this server keeps no responses "
            "(--keep-items-mb 0); send the whole conversation in input instead");
}

TEST(ResponseStore, AConversationWithADeletedTurnIsNotContinued) {
  ResponseStore store(kPlenty);
  store.keep("k", response("1"));
  store.keep("k", response("2", "1"));
  ASSERT_TRUE(store.erase("k", "resp_1"));
  const auto failure = std::get<llm::Failure>(store.conversation("k", "resp_2"));
  EXPECT_EQ(failure.status, 404);
  EXPECT_EQ(failure.code, "previous_response_not_found");
  EXPECT_NE(failure.message.find("\"resp_1\""), std::string::npos) << failure.message;
  EXPECT_EQ(store.count(), 1U);
  ASSERT_TRUE(store.erase("k", "resp_2"));
  EXPECT_EQ(store.bytes(), 0U);
  EXPECT_EQ(store.count(), 0U);
}

TEST(ResponseStore, AnInputWithoutItsFirstTurnIsNotListedAndItsReaderIsToldWhatIsLeft) {
  ResponseStore store(kPlenty);
  store.keep("k", response("1"));
  store.keep("k", response("2", "1"));
  store.keep("k", response("3", "2"));
  ASSERT_TRUE(store.erase("k", "resp_1"));
  const auto failure = std::get<llm::Failure>(store.input_items("k", "resp_3"));
  EXPECT_EQ(failure.status, 404);
  EXPECT_EQ(failure.code, "previous_response_not_found") << "resp_3 itself is there";
  EXPECT_TRUE(std::holds_alternative<std::string>(store.body("k", "resp_3")));
  EXPECT_EQ(failure.message,
            "the input of the response \"resp_3\" cannot be listed as a whole: it continues "
            "\"resp_1\", which is not kept any more: it was not stored under this key, was too "
            "large to keep, was deleted, or was evicted for newer ones: responses are kept in 1 MB "
            "of memory, which --keep-items-mb sets, until the server stops; GET /v1/responses/ID "
            "still shows the answer of each response that is kept, and the input is only with the "
            "client that sent it");
  EXPECT_EQ(std::get<llm::Failure>(store.input_items("k", "resp_1")).code, "response_not_found")
      << "one that is not there itself";
}

// Against a plain model of each key's rows: what the store has is a part of what was kept and not
// deleted, in bounds, and whatever is there can be continued unless one of its turns was deleted.
TEST(ResponseStore, KeepsItsBoundsWhateverHappens) {
  const uint64_t seed = 20261123;
  SCOPED_TRACE(seed);
  Random random(seed);
  ResponseStore store(room_for(12));
  std::map<std::string, std::deque<std::string>> kept;  // ids by key
  int found = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::string key(1, static_cast<char>('a' + random.below(3)));
    std::deque<std::string>& mine = kept[key];
    const std::string some = mine.empty() ? "" : mine[random.below(mine.size())];
    if (random.below(10) == 0 && !some.empty()) {
      store.erase(key, "resp_" + some);
      std::erase(mine, some);
      EXPECT_TRUE(std::holds_alternative<llm::Failure>(store.body(key, "resp_" + some)));
    } else if (random.below(2) == 0 && !some.empty()) {
      const auto body = store.body(key, "resp_" + some);
      if (const auto* text = std::get_if<std::string>(&body)) {
        ++found;
        EXPECT_EQ(json::parse(*text).at("id"), json::value("resp_" + some));
      }
    } else {
      const bool continues = random.below(2) == 0 && !some.empty() &&
                             ids_of(store.conversation(key, "resp_" + some)).size() > 1;
      const std::string id = fmt::format("{:05}", step);
      store.keep(key, response(id, continues ? some : ""));
      mine.push_back(id);
      if (mine.size() > 20) mine.pop_front();
    }
    ASSERT_LE(store.bytes(), store.bytes_max());
  }
  EXPECT_GT(found, 100);
}

}  // namespace

}  // namespace windrow::api
