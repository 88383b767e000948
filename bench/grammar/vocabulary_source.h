// Vocabularies to measure with, as real models have them: the merges of a real tokenizer from a
// file, or one made up, whose tokens have the lengths and beginnings of real ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace windrow::bench {

struct BenchVocabulary {
  std::string source;              // for the report
  std::vector<std::string> bytes;  // of each token; the last ones are control tokens
  std::vector<int32_t> end_tokens;
};

// The first `tokens` of a file with a token a line, base64, a blank, its rank. Throws what is
// wrong.
BenchVocabulary read_vocabulary(const std::string& path, size_t tokens);

BenchVocabulary made_up_vocabulary(uint64_t seed, size_t tokens);

// The longest token at each place: what a tokenizer writes, nearly.
class Tokenizer {
 public:
  explicit Tokenizer(const BenchVocabulary& vocabulary);
  std::vector<int32_t> tokens(std::string_view text) const;

 private:
  static uint64_t edge_of(uint32_t node, char byte) {
    return (uint64_t{node} << 8U) | static_cast<unsigned char>(byte);
  }

  std::unordered_map<uint64_t, uint32_t> next_;  // a trie's edges
  std::unordered_map<uint32_t, int32_t> token_of_;
  uint32_t nodes_ = 1;
};

}  // namespace windrow::bench
