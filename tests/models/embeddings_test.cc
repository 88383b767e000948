// The embedding model of the repository brings queries near their facts.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "check_answers/key_line.h"
#include "end_to_end/job_folder.h"

namespace windrow::end_to_end {
namespace {

using Vector = std::vector<double>;

const std::string kSamples = WINDROW_SAMPLES_DIR;

// The recall of 50 queries over 200 facts, as measured on the sample, less a margin of four
// queries.
constexpr double kRecallAt5Floor = 0.9;

double cosine(const Vector& one, const Vector& other) {
  const auto product = [](const Vector& left, const Vector& right) {
    return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
  };
  const double lengths = std::sqrt(product(one, one) * product(other, other));
  return lengths > 0 ? product(one, other) / lengths : 0;
}

// How many other facts are at least as near as the right one.
int64_t rank(const Vector& query, const std::map<std::string, Vector>& facts,
             const std::string& right) {
  const double nearness = cosine(query, facts.at(right));
  return std::count_if(facts.begin(), facts.end(), [&](const auto& fact) {
    return fact.first != right && cosine(query, fact.second) >= nearness;
  });
}

TEST(Embeddings, AQuerysFactIsAmongTheFiveNearest) {
  JobFolder folder;
  folder.use_model(WINDROW_MODELS_DIR "/windrow-embed.gguf");
  const Ended ended = folder.windrow(
      {"run", kSamples + "/embeddings.jsonl", "-o", "results.jsonl", "--model", "model.gguf"});
  ASSERT_EQ(ended.code, 0) << ended;
  std::map<std::string, Vector> facts;
  std::map<std::string, Vector> queries;
  for (const LogLine& line : read_log(folder, "results.jsonl")) {
    const std::string id = boost::json::value_to<std::string>(line.json.at("custom_id"));
    boost::system::error_code absent;
    const boost::json::value whole(line.json);
    const auto* numbers = whole.find_pointer("/response/body/data/0/embedding", absent);
    ASSERT_NE(numbers, nullptr) << line.text;
    (id.starts_with("fact-") ? facts : queries)[id] = boost::json::value_to<Vector>(*numbers);
  }
  EXPECT_EQ(facts.size(), 200U);

  std::ifstream key(kSamples + "/embeddings.key.jsonl");
  std::string line;
  int64_t rows = 0;
  int64_t found = 0;
  while (std::getline(key, line)) {
    const auto expected = check_answers::read_key_line(line);
    ASSERT_TRUE(expected) << line;
    ASSERT_TRUE(queries.contains(expected->custom_id)) << line;
    ASSERT_TRUE(facts.contains(expected->answer)) << line;
    ++rows;
    found += rank(queries[expected->custom_id], facts, expected->answer) < 5 ? 1 : 0;
  }
  EXPECT_EQ(rows, 50);
  EXPECT_GE(static_cast<double>(found), kRecallAt5Floor * static_cast<double>(rows));
}

}  // namespace
}  // namespace windrow::end_to_end
