#include "http/request_text.h"

#include <gtest/gtest.h>

namespace windrow::http {
namespace {

std::string text_of(const ClientRequest& request) {
  std::string text;
  append_request_head(request, text);
  return text;
}

TEST(RequestText, HasWhatEveryMessageNeeds) {
  ClientRequest request{.url = {.host = "gpu2", .port = 8000, .target = "/v1/models?x"}};
  EXPECT_EQ(text_of(request),
            "GET /v1/models?x HTTP/1.1\r\nHost: gpu2:8000\r\nUser-Agent: windrow\r\n"
            "Accept-Encoding: identity\r\n\r\n");
  request.method = Method::kPost;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::make_shared<const std::string>("{}");
  EXPECT_EQ(text_of(request),
            "POST /v1/models?x HTTP/1.1\r\nHost: gpu2:8000\r\nContent-Type: application/json\r\n"
            "User-Agent: windrow\r\nAccept-Encoding: identity\r\nContent-Length: 2\r\n\r\n");
}

TEST(RequestText, APostWithoutABodySaysSo) {
  const ClientRequest request{.method = Method::kPost, .url = {.host = "::1"}};
  EXPECT_EQ(text_of(request),
            "POST / HTTP/1.1\r\nHost: [::1]\r\nUser-Agent: windrow\r\nAccept-Encoding: identity\r\n"
            "Content-Length: 0\r\n\r\n");
}

// A length of the caller's could disagree with the body, and so hide a second request in it.
TEST(RequestText, WhatFramesTheMessageIsNotTheCallers) {
  ClientRequest request{.url = {.host = "h"}};
  request.headers = {{"content-length", "9"}, {"Transfer-Encoding", "chunked"},
                     {"Host", "other"},       {"Connection", "close"},
                     {"user-agent", "mine"},  {"Accept-Encoding", "gzip"}};
  EXPECT_EQ(text_of(request),
            "GET / HTTP/1.1\r\nHost: h\r\nuser-agent: mine\r\nAccept-Encoding: gzip\r\n\r\n");
}

}  // namespace
}  // namespace windrow::http
