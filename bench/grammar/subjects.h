// The schemas to measure with, each with answers that are valid under it.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace windrow::bench {

struct Subject {
  std::string name;
  std::string group;  // "graphiti", "level 3"
  boost::json::value schema;
  std::vector<std::string> answers;  // compact
};

// The schemas of folder/schemas with the answers of folder/answers. Throws what is wrong.
std::vector<Subject> published_subjects(const std::string& folder);

// The project's generator, so many of each level. `level`: only this one; 0 is all.
std::vector<Subject> generated_subjects(uint64_t seed, int of_each_level, int level,
                                        int answers_each);

}  // namespace windrow::bench
