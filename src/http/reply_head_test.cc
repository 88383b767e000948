#include "http/reply_head.h"

#include <gtest/gtest.h>

namespace windrow::http {
namespace {

TEST(ReplyHead, HasTheStatusTheHeadersAndTheLength) {
  EXPECT_EQ(reply_head(200, "text/plain", {{"X", "1"}, {"Y", "2"}}, 5),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX: 1\r\nY: 2\r\nContent-Length: 5\r\n");
  EXPECT_EQ(reply_head(204, "", {}, 0), "HTTP/1.1 204 No Content\r\n");
  EXPECT_EQ(reply_head(200, "", {}, std::nullopt), "HTTP/1.1 200 OK\r\n");
}

TEST(ReplyHead, AHeaderThatWouldBeginAnotherMakesItA500) {
  EXPECT_EQ(reply_head(200, "", {{"X", "a\r\nY: b"}}, 0),
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n");
  EXPECT_FALSE(are_writable({{"X ", "a"}}));
}

TEST(ReplyHead, WhatAClientSentIsShownWithoutHarm) {
  EXPECT_EQ(shown("/v1/chat"), "/v1/chat");
  EXPECT_EQ(shown("/\xff\x80\r\n"), "/????");
  EXPECT_EQ(shown(std::string(300, 'a')), std::string(200, 'a') + "...");
}

}  // namespace
}  // namespace windrow::http
