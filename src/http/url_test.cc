#include "http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string failure(std::string_view text) {
  const Result<Url> url = parse_url(text);
  return url ? "no failure" : url.error().message;
}

TEST(Url, PartsAreTakenAsTheyWillBeSent) {
  EXPECT_EQ(parse_url("http://Host:8000/v1?a=b#part").value(),
            (Url{.host = "host", .port = 8000, .target = "/v1?a=b"}));
  EXPECT_EQ(parse_url("HTTPS://api.example.com").value(),
            (Url{.tls = true, .host = "api.example.com", .port = 443}));
  EXPECT_EQ(parse_url("http://[::1]:8080/").value(), (Url{.host = "::1", .port = 8080}));
  EXPECT_EQ(parse_url("http://h?q").value().target, "/?q");
}

TEST(Url, IsWrittenAsItWasRead) {
  for (const std::string text : {"http://127.0.0.1:11434/v1", "https://h/",
                                 "http://[fe80::1]:9/x?y", "https://h:80/", "http://h:443/"}) {
    EXPECT_EQ(to_string(parse_url(text).value()), text);
  }
  EXPECT_EQ(to_string(parse_url("http://h:80").value()), "http://h/");
  EXPECT_EQ(origin(parse_url("https://h:444/v1?key=secret").value()), "https://h:444");
}

TEST(Url, WhatCannotBeUsedSaysWhatToWrite) {
  EXPECT_THAT(failure("localhost:11434/v1"), HasSubstr("write http://localhost:11434/v1"));
  EXPECT_THAT(failure("ftp://h"), HasSubstr("'ftp' is not known"));
  EXPECT_THAT(failure("http://"), HasSubstr("names no host"));
  EXPECT_THAT(failure("http://:80/"), HasSubstr("names no host"));
  EXPECT_THAT(failure("http://h:0/"), HasSubstr("port"));
  EXPECT_THAT(failure("http://h:65536/"), HasSubstr("port"));
  EXPECT_THAT(failure("http://h:8o/"), HasSubstr("port"));
  EXPECT_THAT(failure("http://[::1/"), HasSubstr("not closed"));
  EXPECT_THAT(failure("http://[h]/"), HasSubstr("no IPv6 address"));
  EXPECT_THAT(failure("http://a,b/"), HasSubstr("can be no host"));
  EXPECT_THAT(failure("http://h/a b"), HasSubstr("%20"));
  EXPECT_THAT(failure("http://h/\r\nX: y"), HasSubstr("%20"));
}

TEST(Url, APasswordIsRefusedAndNotRepeated) {
  const std::string message = failure("http://me:secret@h/");
  EXPECT_THAT(message, HasSubstr("header"));
  EXPECT_THAT(message, Not(HasSubstr("secret")));
}

TEST(Url, APathBelowKeepsTheQuery) {
  const auto joined = [](std::string_view base, std::string_view path) {
    return to_string(below(parse_url(base).value(), path));
  };
  EXPECT_EQ(joined("http://h/v1", "models"), "http://h/v1/models");
  EXPECT_EQ(joined("http://h/v1/", "/models"), "http://h/v1/models");
  EXPECT_EQ(joined("http://h", "models"), "http://h/models");
  EXPECT_EQ(joined("http://h/v1?api-version=2", "chat/completions"),
            "http://h/v1/chat/completions?api-version=2");
}

TEST(Url, KnowsThisMachine) {
  for (const char* text :
       {"http://localhost", "http://127.1.2.3", "http://[::1]", "http://a.localhost"})
    EXPECT_TRUE(is_loopback(parse_url(text).value())) << text;
  for (const char* text : {"http://localhost.org", "http://128.0.0.1", "http://127.0.0.1.org"})
    EXPECT_FALSE(is_loopback(parse_url(text).value())) << text;
}

TEST(Url, ReadsIpv4) {
  uint32_t address = 0;
  EXPECT_TRUE(parse_ipv4("10.1.2.3", address));
  EXPECT_EQ(address, 0x0A010203U);
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.4x", "1..2.3"})
    EXPECT_FALSE(parse_ipv4(text, address)) << text;
}

}  // namespace
}  // namespace windrow::http
