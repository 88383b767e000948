#include "engine/sim/sim_runner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/ensure.h"
#include "base/random.h"

namespace windrow::engine::sim {
namespace {

constexpr int32_t kSequencesMax = 256;
constexpr int32_t kRestingMin = 32;
constexpr int32_t kOutputsMin = 256;
constexpr int64_t kCellsMax = int64_t{1} << 30;

constexpr int32_t kPassTokensMax = 8192;
constexpr int32_t kPassInputsMax = 256;

// Bytes and pieces are in every text, so they tell less of one than its words do.
constexpr double kPieceWeight = 0.25;

float dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

}  // namespace

SimRunner::SimRunner(const SimVocabulary& vocabulary, const SimOptions& model,
                     const SimRunnerOptions& options, const Clock& clock,
                     std::unique_ptr<Pause> pause)
    : model_(model), predictor_(vocabulary, model), clock_(clock), pause_(std::move(pause)) {
  const int64_t cells = options.cells_max > 0 ? int64_t{options.cells_max}
                                              : int64_t{model.context} * options.rows_max;
  limits_.cells_max = static_cast<int32_t>(std::min(cells, kCellsMax));
  limits_.rows_max = options.rows_max;
  limits_.sequences_max =
      std::min(kSequencesMax, options.rows_max + std::max(options.rows_max, kRestingMin));
  limits_.step_tokens_max = options.step_tokens_max;
  limits_.step_outputs_max = std::max(options.rows_max, kOutputsMin);
  limits_.row_tokens_max = std::min(model.context, limits_.cells_max);
  limits_.row_tokens_trained = model.context;
  limits_.vocabulary_size = vocabulary.size();
  limits_.sharing = options.share ? Sharing::kAnyRange : Sharing::kNothing;
  sequences_.resize(static_cast<size_t>(limits_.sequences_max));
}

void SimRunner::change(const MemoryChange& change) {
  Sequence& sequence = sequences_.at(static_cast<size_t>(change.sequence.value()));
  switch (change.kind) {
    case MemoryChange::Kind::kShare: {
      const Sequence& from = sequences_.at(static_cast<size_t>(change.from.value()));
      ENSURE(static_cast<size_t>(change.tokens) <= from.tokens.size(), "{} tokens of {} are shared",
             change.tokens, from.tokens.size());
      sequence.tokens.assign(from.tokens.begin(), from.tokens.begin() + change.tokens);
      sequence.states.assign(from.states.begin(), from.states.begin() + change.tokens);
      return;
    }
    case MemoryChange::Kind::kTruncate:
      ENSURE(static_cast<size_t>(change.tokens) <= sequence.tokens.size(), "{} tokens of {} stay",
             change.tokens, sequence.tokens.size());
      sequence.tokens.resize(static_cast<size_t>(change.tokens));
      sequence.states.resize(static_cast<size_t>(change.tokens));
      return;
    case MemoryChange::Kind::kCompact:
      return;
  }
}

Duration SimRunner::time_of(std::span<const StepRow> step) const {
  Duration time = model_.step;
  for (const StepRow& row : step) {
    const auto tokens = static_cast<int64_t>(row.tokens.size());
    time += tokens == 1 ? model_.row : tokens * model_.prompt_token;
  }
  return time;
}

Result<void> SimRunner::run(std::span<const StepRow> step) {
  ENSURE(!step.empty(), "an empty step was run");
  // What is computed here is part of the time it is meant to take.
  const TimePoint done_at = clock_.now() + time_of(step);
  const auto width = static_cast<size_t>(limits_.vocabulary_size);
  size_t outputs = 0;
  for (const StepRow& row : step)
    outputs += static_cast<size_t>(row.outputs_count);
  ENSURE(outputs <= static_cast<size_t>(limits_.step_outputs_max), "{} outputs", outputs);
  logits_.resize(outputs * width);
  std::span<float> room = logits_;
  for (const StepRow& row : step) {
    auto& [tokens, states] = sequences_.at(static_cast<size_t>(row.sequence.value()));
    ENSURE(row.first == static_cast<Position>(tokens.size()), "a gap at {}", row.first);
    ENSURE(tokens.size() + row.tokens.size() <= static_cast<size_t>(limits_.row_tokens_max),
           "a row past {}", limits_.row_tokens_max);
    tokens.insert(tokens.end(), row.tokens.begin(), row.tokens.end());
    for (const Token token : row.tokens)
      states.push_back(
          predictor_.after(states.empty() ? predictor_.start() : states.back(), token));
    for (auto left = static_cast<size_t>(row.outputs_count); left > 0; --left) {
      predictor_.predict(states[states.size() - left], tokens, room.first(width));
      room = room.subspan(width);
    }
  }
  if (time_of(step) > Duration{}) pause_->until(done_at);
  return {};
}

std::span<const float> SimRunner::logits(size_t index) const {
  const auto width = static_cast<size_t>(limits_.vocabulary_size);
  return std::span(logits_).subspan(index * width, width);
}

// --- embeddings ---------------------------------------------------------------------------------

SimEmbeddingRunner::SimEmbeddingRunner(const SimVocabulary& vocabulary, const SimOptions& model,
                                       Pooling pooling, const Clock& clock,
                                       std::unique_ptr<Pause> pause)
    : model_(model), clock_(clock), pause_(std::move(pause)) {
  limits_.input_tokens_max = std::min(model.context, kPassTokensMax);
  limits_.batch_tokens_max = kPassTokensMax;
  limits_.inputs_max = kPassInputsMax;
  limits_.pooling = pooling;
  limits_.dimensions = pooling == Pooling::kRank ? 0 : model.embedding_size;
  limits_.scores = pooling == Pooling::kRank ? 1 : 0;
  limits_.vocabulary_size = vocabulary.size();
  words_.reserve(static_cast<size_t>(vocabulary.size()) *
                 static_cast<size_t>(model.embedding_size));
  Random random(model.seed);
  for (Token token = 0; token < vocabulary.size(); ++token) {
    const double weight = token >= vocabulary.first_spoken() ? 1 : kPieceWeight;
    for (int32_t i = 0; i < model.embedding_size; ++i)
      words_.push_back(static_cast<float>(weight * (random.unit() * 2 - 1)));
  }
}

void SimEmbeddingRunner::add_up(std::span<const Token> tokens, std::span<float> sum) const {
  std::ranges::fill(sum, 0.0F);
  for (const Token token : tokens) {
    const std::span<const float> word =
        std::span(words_).subspan(static_cast<size_t>(token) * sum.size(), sum.size());
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += word[i];
  }
}

// The logit of how near they are: a cosine of 1 becomes 6, one of 0 becomes -2.
float SimEmbeddingRunner::score(std::span<const Token> pair) const {
  const auto between = std::ranges::find(pair, SimVocabulary::kSeparator);
  const auto query_size = static_cast<size_t>(between - pair.begin());
  std::vector<float> query(static_cast<size_t>(model_.embedding_size));
  std::vector<float> document = query;
  add_up(pair.first(query_size), query);
  add_up(pair.subspan(query_size), document);
  const float lengths = std::sqrt(dot(query, query) * dot(document, document));
  return 8 * (lengths > 0 ? dot(query, document) / lengths : 0.0F) - 2;
}

Result<void> SimEmbeddingRunner::run(std::span<const std::span<const Token>> inputs) {
  ENSURE(!inputs.empty(), "an empty pass was run");
  size_t tokens = 0;
  for (const std::span<const Token> input : inputs)
    tokens += input.size();
  ENSURE(tokens <= static_cast<size_t>(limits_.batch_tokens_max), "{} tokens in a pass", tokens);
  const Duration time = model_.pass + static_cast<int64_t>(tokens) * model_.pass_token;
  const TimePoint done_at = clock_.now() + time;
  const auto numbers = static_cast<size_t>(width(limits_));
  outputs_.resize(inputs.size() * numbers);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (limits_.pooling == Pooling::kRank) {
      outputs_[i] = score(inputs[i]);
    } else {
      add_up(inputs[i], std::span(outputs_).subspan(i * numbers, numbers));
    }
  }
  if (time > Duration{}) pause_->until(done_at);
  return {};
}

std::span<const float> SimEmbeddingRunner::embedding(size_t index) const {
  const auto numbers = static_cast<size_t>(width(limits_));
  return std::span(outputs_).subspan(index * numbers, numbers);
}

}  // namespace windrow::engine::sim
