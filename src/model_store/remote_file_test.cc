#include "model_store/remote_file.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <string>

namespace windrow::model_store {

namespace {

using testing::AllOf;
using testing::HasSubstr;

ModelSource hub_file() {
  return parse_source("hf:o/r/f.gguf", http::parse_url("https://hub").value()).value().front();
}

std::string message(int status, const http::Headers& headers, bool had_token,
                    const ModelSource& source = hub_file()) {
  return status_error(source, {.status = status, .headers = headers}, source.url, had_token)
      .message;
}

TEST(RemoteFile, TheHubSaysSizeAndHashOnTheWay) {
  const std::string hash(64, 'A');
  RemoteFile file;
  add_hub_facts({{"X-Linked-Size", "123"}, {"X-Linked-ETag", "\"" + hash + "\""}}, file);
  EXPECT_EQ(file.bytes, 123U);
  EXPECT_EQ(file.sha256, std::string(64, 'a'));
  // Of small files it is another kind of hash.
  RemoteFile other;
  add_hub_facts({{"X-Linked-ETag", "\"0123456789abcdef0123456789abcdef01234567\""}}, other);
  EXPECT_EQ(other.sha256, "");
  add_hub_facts({{"X-Linked-Size", "1x"}}, other);
  EXPECT_FALSE(other.bytes);
}

TEST(RemoteFile, AWeakEtagIsNone) {
  RemoteFile file;
  add_file_facts({{"Content-Length", "5"}, {"ETag", "\"x\""}}, file);
  EXPECT_EQ(file.bytes, 5U);
  EXPECT_EQ(file.etag, "\"x\"");
  add_file_facts({{"ETag", "W/\"x\""}}, file);
  EXPECT_EQ(file.etag, "");
}

TEST(RemoteFile, ContentRanges) {
  const auto range = parse_content_range("bytes 100-199/200");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 100U);
  EXPECT_EQ(range->last, 199U);
  EXPECT_EQ(range->total, 200U);
  EXPECT_FALSE(parse_content_range("bytes 0-9/*")->total);
  for (const char* text : {"", "bytes", "bytes */200", "bytes 5-4/10", "bytes 0-9/9",
                           "bytes 0-9/10x", "items 0-9/10", "bytes -1-9/10"})
    EXPECT_FALSE(parse_content_range(text)) << text;
}

TEST(RemoteFile, ARefusedDownloadIsToldWhatToDo) {
  EXPECT_THAT(message(401, {}, false),
              AllOf(HasSubstr("hf:o/r/f.gguf: https://hub answered 401"),
                    HasSubstr("https://hub/o/r"), HasSubstr("set HF_TOKEN")));
  EXPECT_THAT(message(403, {{"X-Error-Code", "GatedRepo"}}, true),
              AllOf(HasSubstr("the account of HF_TOKEN"), HasSubstr("conditions")));
  EXPECT_THAT(message(429, {}, false), HasSubstr("HF_TOKEN"));
}

TEST(RemoteFile, WhatIsNotThereIsNamed) {
  EXPECT_THAT(message(404, {{"X-Error-Code", "EntryNotFound"}}, true),
              HasSubstr("https://hub/o/r/tree/main lists the files"));
  EXPECT_THAT(message(404, {{"X-Error-Code", "RevisionNotFound"}}, true),
              HasSubstr("it has no revision main"));
  EXPECT_THAT(message(404, {{"X-Error-Code", "RepoNotFound"}}, true),
              HasSubstr("there is no https://hub/o/r"));
  const ModelSource web =
      parse_source("https://h/f.gguf?key=secret", http::parse_url("https://hub").value())
          .value()
          .front();
  EXPECT_EQ(message(404, {}, false, web),
            "https://h/f.gguf: https://h answered 404; is the URL right?");
  EXPECT_THAT(message(503, {}, false, web), HasSubstr("try again later"));
}

std::string target(std::string_view from, std::string_view location) {
  const Result<http::Url> url = redirect_target(http::parse_url(from).value(), location);
  return url ? http::to_string(*url) : "refused";
}

TEST(Redirect, ReferencesAreResolvedAsTheStandardSays) {
  const std::string from = "https://h/a/b/c?q=1";
  EXPECT_EQ(target(from, "https://cdn:8443/x?y#z"), "https://cdn:8443/x?y");
  EXPECT_EQ(target(from, "//cdn/x"), "https://cdn/x");
  EXPECT_EQ(target(from, "/x/y?z=1"), "https://h/x/y?z=1");
  EXPECT_EQ(target(from, "x"), "https://h/a/b/x");
  EXPECT_EQ(target(from, "../x"), "https://h/a/x");
  EXPECT_EQ(target(from, "../../../x"), "https://h/x");
  EXPECT_EQ(target(from, "./"), "https://h/a/b/");
  EXPECT_EQ(target(from, "?z=2"), "https://h/a/b/c?z=2");
  EXPECT_EQ(target(from, "/x?to=http://y"), "https://h/x?to=http://y");
  EXPECT_EQ(target("http://h/a", "https://h/a"), "https://h/a");
}

TEST(Redirect, WhatLeadsAwayFromTlsOrNowhereIsRefused) {
  EXPECT_EQ(target("https://h/a", "http://h/a"), "refused");
  EXPECT_EQ(target("https://h/a", "ftp://h/a"), "refused");
  EXPECT_EQ(target("https://h/a", "https://user:word@h/a"), "refused");
  EXPECT_EQ(target("https://h/a", "/a b"), "refused");
}

TEST(Redirect, OriginsAreSchemeHostAndPort) {
  const auto same = [](std::string_view a, std::string_view b) {
    return same_origin(http::parse_url(a).value(), http::parse_url(b).value());
  };
  EXPECT_TRUE(same("https://h/a", "https://H:443/b"));
  EXPECT_FALSE(same("https://h/a", "http://h/a"));
  EXPECT_FALSE(same("https://h/a", "https://h.evil/a"));
  EXPECT_FALSE(same("https://h/a", "https://h:444/a"));
}

}  // namespace
}  // namespace windrow::model_store
