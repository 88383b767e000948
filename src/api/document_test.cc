// docs/api.md says which endpoints, codes and metrics there are, and docs/memory.md has the
// endpoints of memory banks; this holds them to the code.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "api/openapi/openapi.h"
#include "api/pages/metrics_page.h"
#include "api/testing/all_parts.h"
#include "api/testing/document.h"

namespace windrow::api {
namespace {

namespace fs = std::filesystem;
using testing::document_part;
using testing::expect_part;
using testing::in_backticks;
using testing::kMemoryDocument;
using testing::read_text;

// "GET /health"
bool is_route(std::string_view text) {
  constexpr auto kMethods =
      std::to_array<std::string_view>({"GET", "POST", "PUT", "PATCH", "DELETE"});
  const size_t space = text.find(" /");
  return space != std::string_view::npos &&
         std::ranges::find(kMethods, text.substr(0, space)) != kMethods.end();
}

TEST(ApiDocument, ListsTheEndpointsThereAre) {
  std::set<std::string> documented;
  for (const std::string& part :
       {document_part("endpoints"), document_part("endpoints", kMemoryDocument)}) {
    for (const std::string& words : in_backticks(part)) {
      if (is_route(words)) documented.insert(words);
    }
  }
  std::set<std::string> described;
  for (const DescribedRoute& route : described_routes(testing::whole_document()))
    described.insert(fmt::format("{} {}", route.method, route.path));
  EXPECT_EQ(documented, described);
}

bool is_code(std::string_view text) {
  return text.find('_') != std::string_view::npos &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// The text before a literal, its white space gone.
bool stands_behind(std::string_view text, size_t at, std::string_view words) {
  while (!words.empty()) {
    if (at == 0) return false;
    --at;
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) continue;
    if (text[at] != words.back()) return false;
    words.remove_suffix(1);
  }
  return true;
}

struct Literals {
  std::set<std::string> all;
  std::set<std::string> codes;  // those that are set as a code, for certain
};

Literals literals_of_sources() {
  Literals found;
  for (const char* module :
       {"api", "batches", "llm", "engine", "dispatch", "upstream", "memory", "session"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fmt::format("{}/src/{}", WINDROW_SOURCE_DIR, module))) {
      const std::string name = entry.path().filename();
      const bool is_source = name.ends_with(".cc") || name.ends_with(".h");
      if (!is_source || name.ends_with("_test.cc")) continue;
      const std::string text = read_text(entry.path());
      for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
        const size_t end = text.find('"', at + 1);
        if (end == std::string::npos) break;
        const std::string literal = text.substr(at + 1, end - at - 1);
        if (literal.size() > 40) continue;
        found.all.insert(literal);
        const bool names_code = name == "error_reply.cc" && stands_behind(text, at, "return");
        for (const char* before :
             {".code=", "failure(", "refused(400,", "refused(404,", "failure(404,", "failure(413,",
              "unavailable(", "{502,", "{504,"}) {
          if (is_code(literal) && (names_code || stands_behind(text, at, before)))
            found.codes.insert(literal);
        }
      }
    }
  }
  return found;
}

TEST(ApiDocument, ListsTheCodesThereAre) {
  std::set<std::string> documented;
  for (const std::string& words : in_backticks(document_part("codes"))) {
    if (is_code(words) || words == "cancelled") documented.insert(words);
  }
  const Literals found = literals_of_sources();
  EXPECT_GT(found.codes.size(), 30U) << "the sources are not written as this test reads them";
  for (const std::string& code : found.codes)
    EXPECT_TRUE(documented.contains(code)) << code << " is not in docs/api.md";
  for (const std::string& code : documented)
    EXPECT_TRUE(found.all.contains(code)) << code << " is in docs/api.md and nowhere else";
}

std::string metrics_table() {
  const std::string page = metrics_page(
      ServeMetrics().read(), {}, [](MetricsWriter& text) { testing::AllParts().metrics(text); });
  std::string table = "| metric | type | |\n|---|---|---|\n";
  std::stringstream lines(page);
  std::string line;
  std::string name;
  std::string help;
  while (std::getline(lines, line)) {
    constexpr std::string_view kHelp = "# HELP ";
    constexpr std::string_view kType = "# TYPE ";
    if (line.starts_with(kHelp)) {
      const size_t space = line.find(' ', kHelp.size());
      name = line.substr(kHelp.size(), space - kHelp.size());
      help = line.substr(space + 1);
    } else if (line.starts_with(kType)) {
      const std::string type = line.substr(line.rfind(' ') + 1);
      table += fmt::format("| `{}` | {} | {} |\n", name, type, help);
    }
  }
  return table;
}

TEST(ApiDocument, ListsTheMetricsThereAre) {
  expect_part("metrics", metrics_table());
}

}  // namespace
}  // namespace windrow::api
