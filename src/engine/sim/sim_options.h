// SimOptions: a simulated model as `--model sim:...` describes it: how long it takes and what it
// says. Pure.
//
//   sim:                                     like a small GPU
//   sim:instant                              takes no time at all
//   sim:step-us=30000,answer-tokens=200      other values than the defaults
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

  // For a server that loads and unloads models.
  Duration load{};        // how long loading takes
  int32_t memory_mb = 0;  // what it is accounted for

  int32_t answer_tokens = 64;  // about, of an answer without a limit or a structure
  int32_t vocabulary = 512;    // entries; beyond kVocabularyMin they are made-up words
  int32_t context = 8192;      // of one request, in tokens
  int32_t embedding_size = 384;
  uint64_t seed = 1;

  friend bool operator==(const SimOptions&, const SimOptions&) = default;
};

constexpr int32_t kVocabularyMin = 512;

// Whether a text means a simulated model: it begins with "sim:".
bool is_sim(std::string_view text);

// kInvalid: the message has the key or the value at fault, and the keys there are.
Result<SimOptions> parse_sim(std::string_view text);

// For people: "a pass 12000 us, ..."; and the options that decide about answers, which a resumed
// job compares.
std::string describe_time(const SimOptions& options);
std::string describe_answers(const SimOptions& options);

}  // namespace windrow::engine::sim
