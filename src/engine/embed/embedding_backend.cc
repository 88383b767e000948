#include "engine/embed/embedding_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/host/row_failures.h"
#include "llm/answer_room.h"

namespace windrow::engine {
namespace {

struct InputsAhead final : llm::ReadAhead {
  using Made = std::variant<EmbeddingBackend::Inputs, llm::Failure>;

  InputsAhead(const EmbeddingBackend* maker, Made what) : by(maker), made(std::move(what)) {}

  const EmbeddingBackend* by;
  const Made made;
};

// The body field that holds the index-th input. One input may have been given without a list.
std::string param_of_input(const llm::Request& request, size_t index) {
  if (request.endpoint == llm::Endpoint::kRerank) return fmt::format("documents[{}]", index);
  return request.inputs.size() == 1 ? "input" : fmt::format("input[{}]", index);
}

int32_t sum_of_tokens(const EmbeddingBackend::Inputs& inputs) {
  size_t tokens = 0;
  for (const std::vector<Token>& input : inputs)
    tokens += input.size();
  return static_cast<int32_t>(tokens);
}

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

EmbeddingBackend::EmbeddingBackend(std::unique_ptr<EmbeddingRunner> runner,
                                   const Vocabulary& vocabulary, PairFormat pair_format,
                                   const Clock& clock, const EmbeddingOptions& options,
                                   std::shared_ptr<DeviceThread> thread)
    : vocabulary_(vocabulary),
      pair_tokens_(std::move(pair_format), vocabulary),
      clock_(clock),
      embedder_(std::move(runner), clock, options, std::move(thread)) {}

// The checks that need no text.
std::optional<llm::Failure> EmbeddingBackend::check(const llm::Request& request) const {
  const bool ranks = limits().pooling == Pooling::kRank;
  const bool rerank = request.endpoint == llm::Endpoint::kRerank;
  if (!rerank && request.endpoint != llm::Endpoint::kEmbeddings) {
    return llm::Failure{.code = "model_cannot_generate",
                        .message =
                            "this model is open for embeddings and cannot answer chats and "
                            "completions; send them to a model that generates text"};
  }
  if (rerank && !ranks) {
    return llm::Failure{
        .code = "model_cannot_rerank",
        .message = fmt::format("this model makes embeddings ({} pooling) and cannot rerank; that "
                               "takes a model with a classification head, used with --pooling rank",
                               to_string(limits().pooling))};
  }
  if (!rerank && ranks) {
    return llm::Failure{.code = "model_cannot_embed",
                        .message =
                            "this model is a reranker (rank pooling) and makes no "
                            "embeddings; use an embedding model, or another --pooling"};
  }
  if (request.inputs.empty()) {
    return llm::Failure{.code = "empty_input",
                        .message = "there is no input; give at least one",
                        .param = rerank ? "documents" : "input"};
  }
  const int32_t dimensions = request.dimensions.value_or(1);
  if (!rerank && (dimensions < 1 || dimensions > limits().dimensions)) {
    return llm::Failure{
        .code = "invalid_dimensions",
        .message = fmt::format("dimensions is {}; this model's embeddings have {}, of which 1 to "
                               "{} can be had",
                               dimensions, limits().dimensions, limits().dimensions),
        .param = "dimensions"};
  }
  return std::nullopt;
}

std::optional<llm::Failure> EmbeddingBackend::check_tokens(const llm::Request& request,
                                                           size_t index) const {
  const std::string param = param_of_input(request, index);
  if (request.endpoint == llm::Endpoint::kRerank) {
    return llm::Failure{.code = "invalid_input",
                        .message = fmt::format("{} is a list of tokens; it must be a text", param),
                        .param = param};
  }
  const std::vector<int32_t>& tokens = request.inputs[index].tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < limits().vocabulary_size) continue;
    return llm::Failure{
        .code = "invalid_token",
        .message = fmt::format("token {} of {} is {}; this model's tokens are 0 to {}", i, param,
                               tokens[i], limits().vocabulary_size - 1),
        .param = param};
  }
  return std::nullopt;
}

// Tokenising many megabytes takes seconds: a text that cannot fit by its bytes alone is refused
// before.
std::optional<llm::Failure> EmbeddingBackend::check_bytes(const llm::Request& request,
                                                          size_t index) const {
  const std::optional<size_t> token_bytes_max = vocabulary_.token_bytes_max();
  if (!token_bytes_max) return std::nullopt;
  const size_t bytes = request.inputs[index].text.size() + request.query.size();
  const size_t tokens_min = (bytes + *token_bytes_max - 1) / *token_bytes_max;
  if (tokens_min <= static_cast<size_t>(limits().input_tokens_max)) return std::nullopt;
  return too_long(request, index, tokens_min, true);
}

std::optional<llm::Failure> EmbeddingBackend::check_length(const llm::Request& request,
                                                           size_t index, size_t tokens) const {
  if (tokens == 0) {
    const std::string param = param_of_input(request, index);
    return llm::Failure{
        .code = "empty_input",
        .message = fmt::format("{} has no tokens; there is nothing to embed", param),
        .param = param};
  }
  if (tokens <= static_cast<size_t>(limits().input_tokens_max)) return std::nullopt;
  return too_long(request, index, tokens, false);
}

llm::Failure EmbeddingBackend::too_long(const llm::Request& request, size_t index, size_t tokens,
                                        bool at_least) const {
  const std::string param = param_of_input(request, index);
  const int32_t max = limits().input_tokens_max;
  return llm::Failure{
      .code = "context_length_exceeded",
      .message = fmt::format("this model's maximum context length is {} tokens, and {} has {}{} "
                             "tokens{}; cut the text into parts",
                             max, param, at_least ? "at least " : "", tokens,
                             request.endpoint == llm::Endpoint::kRerank ? " with the query" : ""),
      .param = param,
      .prompt_excess =
          llm::PromptExcess{.tokens = static_cast<int64_t>(tokens), .tokens_max = max}};
}

std::variant<std::vector<Token>, llm::Failure> EmbeddingBackend::tokens_of(
    const llm::Request& request, size_t index) const {
  const llm::Input& input = request.inputs[index];
  std::vector<Token> tokens;
  if (!input.tokens.empty()) {
    if (std::optional<llm::Failure> failure = check_tokens(request, index))
      return *std::move(failure);
    tokens = input.tokens;
  } else {
    if (std::optional<llm::Failure> failure = check_bytes(request, index))
      return *std::move(failure);
    tokens = request.endpoint == llm::Endpoint::kRerank
                 ? pair_tokens_.of(request.query, input.text)
                 : vocabulary_.tokenize_input(input.text, ControlTokens::kAsText);
  }
  if (std::optional<llm::Failure> failure = check_length(request, index, tokens.size()))
    return *std::move(failure);
  return tokens;
}

std::variant<EmbeddingBackend::Inputs, llm::Failure> EmbeddingBackend::input_tokens(
    const llm::Request& request) const {
  if (std::optional<llm::Failure> failure = check(request)) return *std::move(failure);
  Inputs inputs;
  inputs.reserve(request.inputs.size());
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    std::variant<std::vector<Token>, llm::Failure> tokens = tokens_of(request, i);
    if (auto* failure = std::get_if<llm::Failure>(&tokens)) return std::move(*failure);
    inputs.push_back(std::get<std::vector<Token>>(std::move(tokens)));
  }
  return inputs;
}

std::shared_ptr<const llm::ReadAhead> EmbeddingBackend::read_ahead(const llm::Request& request) {
  return std::make_shared<const InputsAhead>(this, input_tokens(request));
}

void EmbeddingBackend::submit(llm::BackendCall call, Done done) {
  if (call.is_cancelled()) {
    done(cancelled());
    return;
  }
  const auto ahead = std::dynamic_pointer_cast<const InputsAhead>(call.read_ahead);
  const bool is_mine = ahead != nullptr && ahead->by == this;
  std::variant<Inputs, llm::Failure> inputs = is_mine ? ahead->made : input_tokens(*call.request);
  if (auto* failure = std::get_if<llm::Failure>(&inputs)) {
    done(std::move(*failure));
    return;
  }
  auto& tokens = std::get<Inputs>(inputs);
  const size_t vector_bytes =
      sizeof(std::vector<float>) + static_cast<size_t>(limits().dimensions) * sizeof(float);
  if (call.answer_share && !call.answer_share->grow(tokens.size() * vector_bytes)) {
    done(llm::no_room_for_answer());
    return;
  }
  const int32_t prompt_tokens = sum_of_tokens(tokens);
  embedder_.submit(
      EmbeddingWork{.inputs = std::move(tokens),
                    .submitted_at = clock_.now(),
                    .priority = call.priority,
                    .withdrawn = call.withdrawn,
                    .unwanted = call.unwanted,
                    .done = [request = call.request, prompt_tokens,
                             done = std::move(done)](EmbeddingOutcome outcome) {
                      if (auto* result = std::get_if<EmbeddingResult>(&outcome)) {
                        done(embedding_answer(*request, std::move(*result), prompt_tokens));
                      } else {
                        done(std::get<llm::Failure>(std::move(outcome)));
                      }
                    }});
}

// Enough for two passes when each request has one short input: while one runs, the next is ready.
int32_t EmbeddingBackend::in_flight_target() const {
  return 2 * limits().inputs_max;
}

}  // namespace windrow::engine
