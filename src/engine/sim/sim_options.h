// SimOptions: a model that is none, as `--model sim:...` writes it: how long it takes and what it
// says. Pure.
//
//   sim:                                     like a small GPU
//   sim:instant                              takes no time at all
//   sim:step-us=30000,answer-tokens=200      others than the defaults
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace windrow::engine::sim {

struct SimOptions {
  // A forward pass takes `step`, and more for each row that decodes and each token of a prompt.
  Duration step = std::chrono::microseconds(12'000);
  Duration row = std::chrono::microseconds(100);
  Duration prompt_token = std::chrono::microseconds(50);

  // A pass over texts to embed.
  Duration pass = std::chrono::microseconds(3'000);
  Duration pass_token = std::chrono::microseconds(10);

  // Of a server whose models come and go.
  Duration load{};        // until it is there
  int32_t memory_mb = 0;  // what it takes, as others see it

  int32_t answer_tokens = 64;  // about, of an answer that is not cut or given a form
  int32_t vocabulary = 512;    // entries; above the least they are made-up words
  int32_t context = 8192;      // of one request, in tokens
  int32_t embedding_size = 384;
  uint64_t seed = 1;

  friend bool operator==(const SimOptions&, const SimOptions&) = default;
};

constexpr int32_t kVocabularyMin = 512;

// Whether a text means a simulated model: it begins with "sim:".
bool is_sim(std::string_view text);

// kInvalid names the key or the value at fault, and what there is.
Result<SimOptions> parse_sim(std::string_view text);

// For people: "a pass 12000 us, ..."; and what decides about answers, for a job that is continued.
std::string describe_time(const SimOptions& options);
std::string describe_answers(const SimOptions& options);

}  // namespace windrow::engine::sim
