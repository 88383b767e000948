#include "http/routes.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::http {
namespace {

Routes<int> routes() {
  Routes<int> routes;
  routes.add("GET", "/v1/models", 1);
  routes.add("POST", "/v1/batches", 2);
  routes.add("GET", "/v1/batches", 3);
  routes.add("GET", "/v1/batches/{id}", 4);
  routes.add("POST", "/v1/batches/{id}/cancel", 5);
  routes.add("GET", "/v1/batches/all", 6);
  return routes;
}

int found(std::string_view method, std::string_view path) {
  const Routes<int> all = routes();
  const Routes<int>::Found found = all.find(method, path);
  return found.handler == nullptr ? 0 : *found.handler;
}

TEST(Routes, MethodAndPathDecide) {
  EXPECT_EQ(found("GET", "/v1/models"), 1);
  EXPECT_EQ(found("POST", "/v1/batches"), 2);
  EXPECT_EQ(found("GET", "/v1/batches"), 3);
  EXPECT_EQ(found("HEAD", "/v1/models"), 1);
  EXPECT_EQ(found("GET", "/v1/model"), 0);
  EXPECT_EQ(found("GET", "/v1/models/"), 0);
  EXPECT_EQ(found("HEAD", "/v1/batches/1/cancel"), 0);
}

TEST(Routes, APathThatIsNotThereHasOneThatWasMeant) {
  const Routes<int> all = routes();
  EXPECT_EQ(all.similar("/v1/models/"), "/v1/models");
  EXPECT_EQ(all.similar("/models"), "/v1/models");
  EXPECT_EQ(all.similar("/batches//"), "/v1/batches");
  for (const std::string_view none : {"/", "//", "", "/v1/model", "models", "/v2/models"})
    EXPECT_EQ(all.similar(none), "") << none;
}

TEST(Routes, BracesStandForOnePart) {
  EXPECT_EQ(found("GET", "/v1/batches/b7"), 4);
  EXPECT_EQ(found("POST", "/v1/batches/b7/cancel"), 5);
  EXPECT_EQ(found("GET", "/v1/batches/all"), 6);
  EXPECT_EQ(found("GET", "/v1/batches/"), 0);
  EXPECT_EQ(found("GET", "/v1/batches/a/b"), 0);
  const Routes<int> all = routes();
  EXPECT_EQ(all.find("POST", "/v1/batches/b7/cancel").parts, std::vector<std::string_view>{"b7"});
}

TEST(Routes, ALastPartMayHaveAnyLength) {
  Routes<int> all;
  all.add("GET", "/sessions/{id}/{path...}", 1);
  all.add("POST", "/sessions/{id}/{path...}", 2);
  all.add("POST", "/sessions/{id}/samples", 3);
  all.add("GET", "/sessions/{id}", 4);
  const auto found = [&](std::string_view method, std::string_view path) {
    const Routes<int>::Found one = all.find(method, path);
    return std::pair(one.handler == nullptr ? 0 : *one.handler,
                     std::vector<std::string>(one.parts.begin(), one.parts.end()));
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(found("GET", "/sessions/a/v1/models"), std::pair(1, Parts{"a", "v1/models"}));
  EXPECT_EQ(found("GET", "/sessions/a/b"), std::pair(1, Parts{"a", "b"}));
  EXPECT_EQ(found("GET", "/sessions/a/"), std::pair(1, Parts{"a", ""}));
  EXPECT_EQ(found("GET", "/sessions/a//b/"), std::pair(1, Parts{"a", "/b/"}));
  EXPECT_EQ(found("GET", "/sessions/a"), std::pair(4, Parts{"a"}));
  EXPECT_EQ(found("POST", "/sessions/a/samples"), std::pair(3, Parts{"a"}))
      << "what is added later goes first if it says more";
  EXPECT_EQ(found("GET", "/sessions/a/samples"), std::pair(1, Parts{"a", "samples"}));
  EXPECT_EQ(found("POST", "/sessions/a/samples/b"), std::pair(2, Parts{"a", "samples/b"}));
  EXPECT_EQ(found("GET", "/sessions//b").first, 0);
  EXPECT_EQ(found("GET", "/sessions/").first, 0);
  EXPECT_EQ(all.find("DELETE", "/sessions/a/b").allowed, "GET, HEAD, POST");
}

TEST(Routes, AWrongMethodIsToldFromAWrongPath) {
  const Routes<int> all = routes();
  EXPECT_EQ(all.find("DELETE", "/v1/batches").allowed, "POST, GET, HEAD");
  EXPECT_EQ(all.find("GET", "/v1/batches/b7/cancel").allowed, "POST");
  EXPECT_EQ(all.find("GET", "/nothing").allowed, "");
  EXPECT_EQ(all.find("GET", "/v1/batches").allowed, "");
}

}  // namespace
}  // namespace windrow::http
