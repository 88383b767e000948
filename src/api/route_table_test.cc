#include "api/route_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::api {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const http::Handler kNothing = [](const http::ServerRequest&, http::Exchange) {};

class RouteTableTest : public ::testing::Test {
 protected:
  http::Routes<http::Handler> finish() { return std::move(table_).finish(front_); }

  RouteTable table_;
  const SystemClock clock_;
  ServeMetrics metrics_;
  RequestGuard front_{clock_, std::make_shared<KeyAccounts>(clock_, nullptr), metrics_, {}};
};

TEST_F(RouteTableTest, SomePathsHaveAnotherName) {
  table_.add("GET", "/v1/models", kNothing);
  table_.add("GET", "/v1/files", kNothing);
  EXPECT_THAT(table_.served(), ElementsAre(Pair("GET", "/v1/models"), Pair("GET", "/v1/files")));
  const auto routes = finish();
  for (const auto* path : {"/v1/models", "/models", "/v1/files"}) {
    EXPECT_NE(routes.find("GET", path).handler, nullptr) << path;
    EXPECT_NE(routes.find("OPTIONS", path).handler, nullptr) << path;
  }
  EXPECT_EQ(routes.find("GET", "/files").handler, nullptr);
}

TEST_F(RouteTableTest, EachPathAnswersOptionsOnce) {
  table_.add("POST", "/v1/files", kNothing);
  table_.add("GET", "/v1/files", kNothing);
  table_.add("DELETE", "/v1/files/{id}", kNothing);
  const auto routes = finish();
  EXPECT_EQ(routes.find("PUT", "/v1/files").allowed, "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(routes.find("PUT", "/v1/files/x").allowed, "DELETE, OPTIONS");
}

}  // namespace
}  // namespace windrow::api
