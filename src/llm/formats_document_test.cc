// docs/formats.md shows what becomes of every body field; this holds it to the table in the code.
// WINDROW_UPDATE_DOCS=1 writes the document instead of complaining.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "llm/request_json.h"

namespace windrow::llm {
namespace {

constexpr std::string_view kBegin = "<!-- body fields: begin -->\n";
constexpr std::string_view kEnd = "<!-- body fields: end -->\n";

constexpr std::string_view kNames[] = {"chat", "completions", "embeddings", "rerank"};

std::string where(const FieldRule& rule) {
  std::vector<std::string_view> names;
  for (const Endpoint endpoint : endpoints()) {
    if (rule.endpoints.contains(endpoint)) names.push_back(kNames[static_cast<size_t>(endpoint)]);
  }
  if (names.size() == endpoints().size()) return "all";
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string list_of(FieldUse use) {
  std::string list = "\n| field | of | values |\n|---|---|---|\n";
  for (const FieldRule& rule : field_rules()) {
    if (rule.use == use) {
      list += fmt::format("| `{}` | {} | {} |\n", rule.name, where(rule), rule.values);
    }
  }
  return list;
}

// Names that are refused for one reason share a line.
std::string refused() {
  std::string list = "\n| field | of | accepted | why, or what instead |\n|---|---|---|---|\n";
  std::string names;
  const auto rules = field_rules();
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldRule& rule = rules[i];
    if (rule.use != FieldUse::kRefused) continue;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", rule.name);
    const bool same = i + 1 < rules.size() && where(rules[i + 1]) == where(rule) &&
                      rules[i + 1].values == rule.values && rules[i + 1].instead == rule.instead;
    if (same) continue;
    list += fmt::format("| {} | {} | {} | {} |\n", names, where(rule),
                        rule.values.empty() ? "nothing" : rule.values, rule.instead);
    names.clear();
  }
  return list;
}

std::string lists() {
  return fmt::format(
      "\n**Honoured**\n{}\n**Accepted without effect**\n{}\n"
      "**Refused**, unless the value asks for what happens anyway\n{}\n",
      list_of(FieldUse::kHonoured), list_of(FieldUse::kWithoutEffect), refused());
}

TEST(FormatsDocument, ListsEveryBodyFieldAsTheCodeHasIt) {
  const std::string path = WINDROW_SOURCE_DIR "/docs/formats.md";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  std::string document = text.str();
  const size_t begin = document.find(kBegin);
  const size_t end = document.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << "the mark before the lists is gone";
  ASSERT_NE(end, std::string::npos) << "the mark after the lists is gone";
  const size_t first = begin + kBegin.size();
  if (std::getenv("WINDROW_UPDATE_DOCS") != nullptr) {
    document.replace(first, end - first, lists());
    std::ofstream(path) << document;
    return;
  }
  EXPECT_EQ(document.substr(first, end - first), lists())
      << "run this test with WINDROW_UPDATE_DOCS=1 and read what changed";
}

}  // namespace
}  // namespace windrow::llm
