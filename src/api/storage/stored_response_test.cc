#include "api/storage/stored_response.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace windrow::api {
namespace {

namespace json = boost::json;

TEST(StoredItems, ThoseWithoutAnIdGetOneOfTheirKindAndPlace) {
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
}  // namespace windrow::api
