// The chat templates of many models, from tests/templates/corpus.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace windrow::engine::testing {

struct CorpusTemplate {
  std::string name;
  std::string source;
};

// By name.
inline std::vector<CorpusTemplate> template_corpus() {
  std::vector<CorpusTemplate> all;
  for (const auto& entry : std::filesystem::directory_iterator(
           fmt::format("{}/tests/templates/corpus", WINDROW_SOURCE_DIR))) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all.push_back({entry.path().stem().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(all, {}, &CorpusTemplate::name);
  return all;
}

}  // namespace windrow::engine::testing
