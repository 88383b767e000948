// docs/formats.md shows what becomes of every body field; this holds it to the table in the code.
// WINDROW_UPDATE_DOCS=1 writes the document instead of complaining.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "llm/request_json.h"

namespace windrow::llm {
namespace {

constexpr std::string_view kBegin = "<!-- body fields: begin -->\n";
constexpr std::string_view kEnd = "<!-- body fields: end -->\n";

std::string_view where(const FieldRule& rule) {
  if (rule.chat && rule.completion) return "both";
  return rule.chat ? "chat" : "completions";
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

std::string lists() {
  return fmt::format(
      "\n**Honoured**\n{}\n**Accepted without effect**\n{}\n"
      "**Refused**, unless the value asks for what happens anyway\n{}\n",
      list_of(FieldUse::kHonoured), list_of(FieldUse::kWithoutEffect), list_of(FieldUse::kRefused));
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
