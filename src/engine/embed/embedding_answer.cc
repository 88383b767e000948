#include "engine/embed/embedding_answer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace windrow::engine {

void normalise(std::vector<float>& embedding, size_t dimensions) {
  embedding.resize(std::min(embedding.size(), dimensions));
  double squares = 0;
  for (const float x : embedding)
    squares += static_cast<double>(x) * static_cast<double>(x);
  if (squares == 0) return;
  const double scale = 1 / std::sqrt(squares);
  for (float& x : embedding)
    x = static_cast<float>(static_cast<double>(x) * scale);
}

namespace {

// Some models' head has a number for each class, and libllama makes probabilities of them; a single
// number is a logit.
bool are_probabilities(const std::vector<float>& scores) {
  constexpr float kRounding = 1e-3F;
  if (scores.size() < 2) return false;
  float sum = 0;
  for (const float score : scores) {
    if (score < 0 || score > 1) return false;
    sum += score;
  }
  return std::abs(sum - 1) < kRounding;
}

}  // namespace

std::vector<llm::RankedDocument> rank(const llm::Request& request,
                                      const std::vector<std::vector<float>>& scores) {
  std::vector<llm::RankedDocument> ranking;
  ranking.reserve(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    ranking.push_back({.index = static_cast<int32_t>(i),
                       .score = scores[i].front(),
                       .is_probability = are_probabilities(scores[i])});
  }
  std::sort(ranking.begin(), ranking.end(), [](const auto& a, const auto& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
  if (request.results_max) {
    const auto results_max = static_cast<size_t>(std::max(*request.results_max, 0));
    if (ranking.size() > results_max) ranking.resize(results_max);
  }
  if (request.return_documents) {
    for (llm::RankedDocument& document : ranking)
      document.text = request.inputs[static_cast<size_t>(document.index)].text;
  }
  return ranking;
}

llm::Answer embedding_answer(const llm::Request& request, EmbeddingResult result,
                             int32_t prompt_tokens) {
  llm::Answer answer{.base64 = request.base64,
                     .usage = {.prompt_tokens = prompt_tokens},
                     .timings = result.timings};
  if (request.endpoint == llm::Endpoint::kRerank) {
    answer.ranking = rank(request, result.vectors);
    return answer;
  }
  for (std::vector<float>& vector : result.vectors) {
    const size_t dimensions =
        request.dimensions ? static_cast<size_t>(*request.dimensions) : vector.size();
    normalise(vector, dimensions);
  }
  answer.embeddings = std::move(result.vectors);
  return answer;
}

}  // namespace windrow::engine
