#include "model_store/redirect.h"

#include <gtest/gtest.h>

namespace windrow::model_store {
namespace {

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
