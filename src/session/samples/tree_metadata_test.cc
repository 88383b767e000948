#include "session/samples/tree_metadata.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "session/testing/turn_builder.h"

namespace windrow::session {
namespace {

using testing::TurnBuilder;

const TurnPath& conversation() {
  static const TurnPath path({TurnBuilder{.id = 1, .prompt = {1}, .sampled = {10}}.build(),
                              TurnBuilder{.id = 4,
                                          .parent = 1,
                                          .kept = 2,
                                          .prompt = {20},
                                          .sampled = {30},
                                          .reply_members = R"({"id":"chatcmpl-1","model":"m"})"}
                                  .build()});
  return path;
}

TEST(TreeMetadata, TellsTheTokensAndTheLeafOfTheConversation) {
  boost::json::object metadata = {{"lifecycle", nullptr}};
  add_tree_metadata(conversation(), nullptr, nullptr, metadata);
  EXPECT_EQ(boost::json::serialize(metadata),
            R"({"lifecycle":null,"accumulated_token_ids":[1,10,20,30],)"
            R"("leaf":{"node_id":3,"parent":0,"path_node_ids":[0,3],)"
            R"("response_id":"chatcmpl-1"}})");
}

TEST(TreeMetadata, AFirstTurnHasNoParentAndMayHaveNoId) {
  boost::json::object metadata;
  add_tree_metadata(TurnPath({TurnBuilder{.id = 2, .prompt = {1}, .sampled = {2}}.build()}),
                    nullptr, nullptr, metadata);
  EXPECT_EQ(boost::json::serialize(metadata.at("leaf")),
            R"({"node_id":1,"parent":null,"path_node_ids":[1],"response_id":""})");
}

TEST(TreeMetadata, AClientCannotWriteWhatTheServerTells) {
  const boost::json::object agent = boost::json::parse(R"({"reward":1.5,"lifecycle":"mine",
      "accumulated_token_ids":"plant","leaf":"plant","tito_session_mismatch":["plant"]})")
                                        .as_object();
  boost::json::object metadata = {{"lifecycle", nullptr}};
  add_tree_metadata(conversation(), nullptr, &agent, metadata);
  EXPECT_EQ(metadata.at("reward"), 1.5);
  EXPECT_EQ(metadata.at("lifecycle"), "mine");
  EXPECT_TRUE(metadata.at("accumulated_token_ids").is_array());
  EXPECT_TRUE(metadata.at("leaf").is_object());
  EXPECT_FALSE(metadata.contains("tito_session_mismatch"));

  const boost::json::array mismatches = {1};
  add_tree_metadata(conversation(), &mismatches, &agent, metadata);
  EXPECT_EQ(metadata.at("tito_session_mismatch"), mismatches);
}

}  // namespace
}  // namespace windrow::session
