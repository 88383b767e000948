// Vocabularies built from the embedded English words: deterministic, and with no seed, so that the
// text of a test means the same tokens in every model of one size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace windrow::make_model {

// As GGUF files number them.
enum class TokenKind : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4 };

struct Vocabulary {
  std::vector<std::string> tokens;  // as written into the file
  std::vector<int32_t> kinds;       // TokenKind of each
  std::vector<std::string> merges;  // "left right", the strongest first; byte-level BPE only
};

// The fewest tokens each kind can have: every byte (or every printable ASCII character) and the
// special tokens.
int64_t smallest_bpe_vocabulary();
int64_t smallest_word_piece_vocabulary();

// Byte-level BPE as GPT-2 and Qwen have it: 256 bytes, merges learned from the words, then, where
// the words are exhausted, made-up ones. The last tokens are kBpeSpecials, in that order.
// `token_count` >= smallest_bpe_vocabulary().
Vocabulary make_bpe_vocabulary(int64_t token_count);

// Special tokens of a BPE vocabulary. <think> and </think> are user-defined as in Qwen3's own
// files: shown as text and recognised in any prompt; the others are control tokens.
inline constexpr const char* kEndOfText = "<|endoftext|>";
inline constexpr const char* kImStart = "<|im_start|>";
inline constexpr const char* kImEnd = "<|im_end|>";

// WordPiece as BERT has it (lower case, words begin with U+2581). The first tokens are [PAD],
// [UNK], [CLS], [SEP], [MASK]. `token_count` >= smallest_word_piece_vocabulary().
Vocabulary make_word_piece_vocabulary(int64_t token_count);

// The index of a token that is in the vocabulary.
uint32_t id_of(const Vocabulary& vocabulary, std::string_view token);

}  // namespace windrow::make_model
