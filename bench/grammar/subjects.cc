#include "grammar/subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "structured/instance.h"
#include "structured/schema_json.h"
#include "structured/shape_maker.h"

namespace windrow::bench {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("{} cannot be read", path.string()));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<Subject> published_subjects(const std::string& folder) {
  std::vector<Subject> made;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/schemas")) {
    Subject subject{.name = file.path().stem().string(), .group = "graphiti"};
    subject.schema = boost::json::parse(contents(file.path()));
    const std::string answers = contents(folder + "/answers/" + subject.name + ".jsonl");
    for (size_t at = 0; at < answers.size();) {
      const size_t end = answers.find('\n', at);
      subject.answers.push_back(answers.substr(at, end - at));
      at = end + 1;
    }
    made.push_back(std::move(subject));
  }
  std::sort(made.begin(), made.end(),
            [](const Subject& a, const Subject& b) { return a.name < b.name; });
  return made;
}

std::vector<Subject> generated_subjects(uint64_t seed, int of_each_level, int level,
                                        int answers_each) {
  std::vector<Subject> made;
  for (int i = 0; i < of_each_level; ++i) {
    for (int of = 1; of <= structured::kLevels; ++of) {
      if (level != 0 && of != level) continue;
      const auto number = seed + static_cast<uint64_t>(i);
      const structured::SchemaCase schema = structured::make_schema(of, number);
      Subject subject{.name = schema.name, .group = fmt::format("level {}", of)};
      subject.schema = structured::written_schema(schema);
      Random random(number);
      for (int answer = 0; answer < answers_each; ++answer)
        subject.answers.push_back(structured::compact(structured::make_instance(schema, random)));
      made.push_back(std::move(subject));
    }
  }
  return made;
}

}  // namespace windrow::bench
