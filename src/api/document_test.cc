// docs/api.md says which endpoints, codes and metrics there are; this holds it to the code.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "api/dialects/translation.h"
#include "api/metrics_page.h"
#include "api/openapi.h"

namespace windrow::api {
namespace {

namespace fs = std::filesystem;

const std::string kDocument = WINDROW_SOURCE_DIR "/docs/api.md";

std::string read(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Between the marks of this name.
std::string part(std::string_view name) {
  const std::string document = read(kDocument);
  const std::string begin = fmt::format("<!-- {}: begin -->\n", name);
  const size_t from = document.find(begin);
  const size_t to = document.find(fmt::format("<!-- {}: end -->", name));
  EXPECT_NE(from, std::string::npos) << name;
  EXPECT_NE(to, std::string::npos) << name;
  return document.substr(from + begin.size(), to - from - begin.size());
}

// What stands `so` in it.
std::set<std::string> in_backticks(std::string_view text) {
  std::set<std::string> all;
  for (size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at)) {
    const size_t end = text.find('`', at + 1);
    all.emplace(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return all;
}

TEST(ApiDocument, ListsTheEndpointsThereAre) {
  std::set<std::string> documented;
  for (const std::string& words : in_backticks(part("endpoints"))) {
    if (words.starts_with("GET ") || words.starts_with("POST ") || words.starts_with("DELETE "))
      documented.insert(words);
  }
  std::set<std::string> described;
  for (const DescribedRoute& route : described_routes())
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
  for (const char* module : {"api", "batches", "llm", "engine", "dispatch", "upstream"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fmt::format("{}/src/{}", WINDROW_SOURCE_DIR, module))) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(".cc") || name.ends_with("_test.cc")) continue;
      const std::string text = read(entry.path());
      for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
        const size_t end = text.find('"', at + 1);
        if (end == std::string::npos) break;
        const std::string literal = text.substr(at + 1, end - at - 1);
        if (literal.size() > 40) continue;
        found.all.insert(literal);
        const bool names_code = name == "error_reply.cc" && stands_behind(text, at, "return");
        for (const char* before : {".code=", "failure(", "refused(400,", "refused(404,",
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
  for (const std::string& words : in_backticks(part("codes"))) {
    if (is_code(words) || words == "cancelled") documented.insert(words);
  }
  const Literals found = literals_of_sources();
  EXPECT_GT(found.codes.size(), 30U) << "the sources are not written as this test reads them";
  for (const std::string& code : found.codes)
    EXPECT_TRUE(documented.contains(code)) << code << " is not in docs/api.md";
  for (const std::string& code : documented)
    EXPECT_TRUE(found.all.contains(code)) << code << " is in docs/api.md and nowhere else";
}

// What stands between the marks of this name is this; WINDROW_UPDATE_DOCS=1 writes it there.
void expect_part(std::string_view name, const std::string& expected) {
  const std::string before = part(name);
  if (std::getenv("WINDROW_UPDATE_DOCS") != nullptr) {
    std::string document = read(kDocument);
    const std::string mark = fmt::format("<!-- {}: begin -->\n", name);
    document.replace(document.find(mark) + mark.size(), before.size(), expected);
    std::ofstream(kDocument) << document;
    return;
  }
  EXPECT_EQ(before, expected) << "run this test with WINDROW_UPDATE_DOCS=1 and read what changed";
}

std::string metrics_table() {
  const std::string page = metrics_page(ServeMetrics().read(), {});
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

std::string_view word_for(llm::FieldUse use) {
  switch (use) {
    case llm::FieldUse::kHonoured:
      return "honoured";
    case llm::FieldUse::kWithoutEffect:
      return "without effect";
    case llm::FieldUse::kRefused:
      break;
  }
  return "refused";
}

std::string fields_table(Dialect dialect) {
  std::string table = "| field | | values, or why |\n|---|---|---|\n";
  for (const TranslatedRule& rule : translated_rules(dialect)) {
    const bool refused = rule.use == llm::FieldUse::kRefused;
    const std::string but =
        refused && !rule.values.empty() ? fmt::format(", but for {}", rule.values) : "";
    table += fmt::format("| `{}` | {}{} | {} |\n", rule.name, word_for(rule.use), but,
                         refused ? rule.instead : rule.values);
  }
  return table;
}

TEST(ApiDocument, ListsTheFieldsOfOtherApis) {
  expect_part("fields of responses", fields_table(Dialect::kResponses));
  expect_part("fields of messages", fields_table(Dialect::kMessages));
}

}  // namespace
}  // namespace windrow::api
