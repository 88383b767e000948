// Parts of docs/api.md and docs/memory.md, for the tests that hold them to the code: what stands
// between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "llm/request_json.h"

namespace windrow::api::testing {

inline const std::string kDocument = WINDROW_SOURCE_DIR "/docs/api.md";
inline const std::string kMemoryDocument = WINDROW_SOURCE_DIR "/docs/memory.md";

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string document_part(std::string_view name, const std::string& file = kDocument) {
  const std::string document = read_text(file);
  const std::string begin = fmt::format("<!-- {}: begin -->\n", name);
  const size_t from = document.find(begin);
  const size_t to = document.find(fmt::format("<!-- {}: end -->", name));
  EXPECT_NE(from, std::string::npos) << name;
  EXPECT_NE(to, std::string::npos) << name;
  if (from == std::string::npos || to == std::string::npos) return "";
  return document.substr(from + begin.size(), to - from - begin.size());
}

// What stands `so` in it.
inline std::set<std::string> in_backticks(std::string_view text) {
  std::set<std::string> all;
  for (size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at)) {
    const size_t end = text.find('`', at + 1);
    all.emplace(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return all;
}

inline std::string_view word_for(llm::FieldUse use) {
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

// The part of this name is this; WINDROW_UPDATE_DOCS=1 writes it there.
inline void expect_part(std::string_view name, const std::string& expected,
                        const std::string& file = kDocument) {
  const std::string before = document_part(name, file);
  if (std::getenv("WINDROW_UPDATE_DOCS") != nullptr) {
    std::string document = read_text(file);
    const std::string mark = fmt::format("<!-- {}: begin -->\n", name);
    document.replace(document.find(mark) + mark.size(), before.size(), expected);
    std::ofstream(file) << document;
    return;
  }
  EXPECT_EQ(before, expected) << "run this test with WINDROW_UPDATE_DOCS=1 and read what changed";
}

}  // namespace windrow::api::testing
