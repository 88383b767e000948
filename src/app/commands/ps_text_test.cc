#include "app/commands/ps_text.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::app {
namespace {

namespace json = boost::json;

PsReplies busy() {
  return {.url = "http://127.0.0.1:8080",
          .models = json::parse(R"({"object":"list","data":[
              {"id":"chat","windrow":{"state":"loaded","memory_bytes":536870912}},
              {"id":"far"}]})"),
          .requests = json::parse(R"({"object":"list","total":3,"data":[
              {"id":"chatcmpl-1","endpoint":"/v1/chat/completions","model":"chat",
               "state":"answering","priority":"normal","age_ms":4000,"tokens":1500,"key":"alice"},
              {"id":"chatcmpl-2","endpoint":"/v1/chat/completions","model":"chat",
               "state":"waiting","priority":"batch","age_ms":61000,"tokens":0}]})"),
          .metrics =
              "# HELP windrow_rows_running Rows in the batch.\n"
              "windrow_rows_running{model=\"chat\"} 2\n"
              "windrow_rows_waiting{model=\"chat\"} 1\n"
              "windrow_queue_waiting{model=\"chat\",class=\"normal\"} 4\n"
              "windrow_queue_waiting{model=\"chat\",class=\"batch\"} 1000\n"
              "windrow_kv_cells{model=\"chat\",state=\"needed\"} 512\n"
              "windrow_kv_cells{model=\"chat\",state=\"resting\"} 100\n"
              "windrow_kv_cells_max{model=\"chat\"} 2048\n"};
}

TEST(PsText, ShowsModelsAndRequests) {
  EXPECT_EQ(
      *ps_text(busy()),
      "http://127.0.0.1:8080\n"
      "\n"
      "MODEL  STATE    MEMORY  RUNNING  WAITING  QUEUED  KV CACHE\n"
      "chat   loaded  512 MiB        2        1   1,004      25 %\n"
      "far    served        -        -        -       -         -\n"
      "\n"
      "REQUEST     MODEL  ENDPOINT              STATE      PRIORITY  KEY          AGE  TOKENS\n"
      "chatcmpl-1  chat   /v1/chat/completions  answering  normal    alice      4.0 s   1,500\n"
      "chatcmpl-2  chat   /v1/chat/completions  waiting    batch     -      1 min 1 s       0\n"
      "and 1 more\n");
}

TEST(PsText, AnIdleServerWithoutMetrics) {
  PsReplies idle = busy();
  idle.requests = json::parse(R"({"object":"list","total":0,"data":[]})");
  idle.metrics = "";
  EXPECT_EQ(*ps_text(idle),
            "http://127.0.0.1:8080\n"
            "\n"
            "MODEL  STATE    MEMORY  RUNNING  WAITING  QUEUED  KV CACHE\n"
            "chat   loaded  512 MiB        -        -       -         -\n"
            "far    served        -        -        -       -         -\n"
            "\n"
            "no requests\n");
}

TEST(PsText, JsonHasWhatTheServerSaid) {
  const PsReplies replies = busy();
  const json::object shown = *ps_json(replies);
  EXPECT_EQ(shown.at("requests"), replies.requests);
  EXPECT_EQ(shown.at("models").at(0).at("load"),
            json::parse(R"({"rows_running":2,"rows_waiting":1,"queue_waiting":1004,
                            "cells_used":512,"cells_max":2048})"));
  EXPECT_EQ(shown.at("models").at(1), replies.models.at("data").at(1));
}

TEST(PsText, AnotherServerIsToldApart) {
  PsReplies other = busy();
  other.requests = json::parse(R"({"detail":"Not Found"})");
  EXPECT_EQ(
      ps_text(other).error().message,
      "the reply to /v1/windrow/requests is not that of a Windrow server; --url names another "
      "one");
  EXPECT_FALSE(ps_json(other).has_value());
}

TEST(PsText, LabelsMayHaveQuotes) {
  EXPECT_EQ(model_loads("windrow_rows_running{model=\"a\\\"b\"} 3\n").at("a\"b").rows_running, 3);
  EXPECT_TRUE(model_loads("windrow_ready 1\nbroken{\n").empty());
}

}  // namespace
}  // namespace windrow::app
