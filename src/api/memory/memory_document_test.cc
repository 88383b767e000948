// docs/memory.md says which endpoints and settings of memory banks there are; this holds it to the
// code.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/memory/memory_calls.h"
#include "api/memory/object_reader.h"
#include "api/openapi/openapi.h"
#include "api/testing/document.h"
#include "base/clock.h"
#include "memory/bank/bank.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using testing::document_part;
using testing::expect_part;
using testing::kMemoryDocument;

// What the part adds to the OpenAPI document.
json::object section() {
  const SystemClock clock;
  ServeMetrics metrics;
  RequestGuard guard(clock, std::make_shared<KeyAccounts>(clock, nullptr), metrics, {});
  async::InFlightCounter in_flight;
  const PartHost host{.guard = guard, .in_flight = in_flight, .refusal = [] {
                        return std::optional<llm::Failure>();
                      }};
  return memory_part(nullptr)(host)->openapi();
}

// What is there, each with what it does; then what is not, those with one answer together.
TEST(MemoryDocument, ListsTheEndpointsThereAre) {
  std::string table = "| endpoint | what it does |\n|---|---|\n";
  std::vector<std::pair<std::string, std::string>> absent;
  const json::object document = section();
  for (const DescribedRoute& route : described_routes(document)) {
    const json::object& path = document.at("paths").at(route.path).as_object();
    const json::object& described = path.at(lower_case(route.method)).as_object();
    const std::string name = fmt::format("`{} {}`", route.method, route.path);
    const json::value* instead = described.if_contains("description");
    if (instead == nullptr) {
      table +=
          fmt::format("| {} | {} |\n", name, std::string_view(described.at("summary").as_string()));
      continue;
    }
    const std::string_view text = instead->as_string();
    const auto same = std::ranges::find(absent, text, &std::pair<std::string, std::string>::first);
    if (same == absent.end()) {
      absent.emplace_back(text, name);
    } else {
      same->second += ", " + name;
    }
  }
  for (const auto& [text, names] : absent)
    table += fmt::format("| {} | 501: {} |\n", names, text);
  expect_part("endpoints", table, kMemoryDocument);
}

// The paths of the published document, 69 with /health and /metrics.
TEST(MemoryDocument, HasEveryPublishedPath) {
  std::set<std::string> paths{"/health", "/metrics"};
  size_t operations = 2;
  for (const DescribedRoute& route : described_routes(section())) {
    paths.insert(route.path);
    ++operations;
  }
  EXPECT_EQ(paths.size(), 69U);
  EXPECT_EQ(operations, 89U);
}

TEST(MemoryDocument, ListsTheSettingsAndTheirDefaults) {
  std::map<std::string, json::value> documented;
  std::stringstream lines(document_part("settings", kMemoryDocument));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const size_t name_end = line.find("` | ");
    const size_t value_end = line.find(" | ", name_end + 4);
    documented.emplace(line.substr(3, name_end - 3),
                       json::parse(line.substr(name_end + 4, value_end - name_end - 4)));
  }
  const json::object settings = memory::to_json(memory::BankConfig());
  EXPECT_EQ(documented.size(), settings.size());
  for (const auto& [name, value] : settings) {
    ASSERT_TRUE(documented.contains(std::string(name))) << name << " is not in docs/memory.md";
    EXPECT_EQ(documented.at(std::string(name)), value) << name;
  }
}

}  // namespace
}  // namespace windrow::api
