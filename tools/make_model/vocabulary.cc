#include "make_model/vocabulary.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/ensure.h"
#include "make_model/words.h"

namespace windrow::make_model {

namespace {

struct Special {
  const char* text;
  TokenKind kind;
};

constexpr std::array kBpeSpecials = {
    Special{kEndOfText, TokenKind::kControl},     Special{kImStart, TokenKind::kControl},
    Special{kImEnd, TokenKind::kControl},         Special{"<think>", TokenKind::kUserDefined},
    Special{"</think>", TokenKind::kUserDefined},
};

constexpr std::array kWordPieceSpecials = {
    Special{"[PAD]", TokenKind::kControl},  Special{"[UNK]", TokenKind::kUnknown},
    Special{"[CLS]", TokenKind::kControl},  Special{"[SEP]", TokenKind::kControl},
    Special{"[MASK]", TokenKind::kControl},
};

constexpr std::string_view kLetters = "etaoinshrdlucmfwypvbgkjqxz";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::string_view kWordStart = "\xE2\x96\x81";  // U+2581

// Byte-level BPE writes every byte as a printable character: itself where it is one in Latin-1,
// else the next free one from U+0100 on.
std::array<std::string, 256> make_byte_characters() {
  std::array<std::string, 256> characters;
  unsigned next_free = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
                           (byte >= 0xAE && byte <= 0xFF);
    const unsigned character = printable ? byte : next_free++;
    std::string& text = characters[byte];
    if (character < 0x80) {
      text = static_cast<char>(character);
    } else {  // up to U+07FF: two bytes of UTF-8
      text = {static_cast<char>(0xC0 | (character >> 6)),
              static_cast<char>(0x80 | (character & 0x3F))};
    }
  }
  return characters;
}

// The tokens of a growing vocabulary. A token is added once, however many ways lead to it.
class TokenList {
 public:
  explicit TokenList(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  bool add(std::string token, TokenKind kind = TokenKind::kNormal) {
    if (!known_.insert(token).second) return false;
    vocabulary_.tokens.push_back(std::move(token));
    vocabulary_.kinds.push_back(static_cast<int32_t>(kind));
    return true;
  }

  int64_t size() const { return static_cast<int64_t>(vocabulary_.tokens.size()); }

 private:
  Vocabulary& vocabulary_;
  std::unordered_set<std::string> known_;
};

// Byte-pair encoding of the training text: each word inside a sentence, at the start of a line, and
// capitalised, in proportions near those of real text. Symbols are numbered in the order they
// arise, the bytes first.
class MergeLearner {
 public:
  explicit MergeLearner(const std::array<std::string, 256>& characters)
      : texts_(characters.begin(), characters.end()) {
    int64_t rank = 0;
    for (const std::string_view word : common_words()) {
      const int64_t count = 1'000'000 / (rank + 10);
      std::string capitalised(word);
      capitalised[0] = static_cast<char>(capitalised[0] - 'a' + 'A');
      add_word(" " + std::string(word), count);
      add_word(word, count / 8);
      add_word(capitalised, count / 16);
      ++rank;
    }
  }

  struct Merge {
    std::string left;
    std::string right;
  };

  // Joins the most frequent neighbours; none when every word is one symbol.
  std::optional<Merge> next() {
    const std::optional<Pair> best = most_frequent();
    if (!best) return std::nullopt;
    const auto [left, right] = *best;
    const auto joined = static_cast<uint32_t>(texts_.size());
    texts_.push_back(texts_[left] + texts_[right]);
    for (Word& word : words_)
      join(word, *best, joined);
    return Merge{texts_[left], texts_[right]};
  }

 private:
  using Pair = std::pair<uint32_t, uint32_t>;
  struct Word {
    std::vector<uint32_t> symbols;
    int64_t count;
  };

  void add_word(std::string_view text, int64_t count) {
    Word word{{}, count};
    for (const char c : text)
      word.symbols.push_back(static_cast<unsigned char>(c));
    count_pairs(word, count);
    words_.push_back(std::move(word));
  }

  void count_pairs(const Word& word, int64_t count) {
    for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      counts_[{word.symbols[i], word.symbols[i + 1]}] += count;
    }
  }

  // Among equally frequent pairs that of the oldest symbols, so that the outcome depends on nothing
  // else.
  std::optional<Pair> most_frequent() const {
    std::optional<Pair> best;
    int64_t most = 0;
    for (const auto& [pair, count] : counts_) {
      if (count <= most) continue;
      most = count;
      best = pair;
    }
    return best;
  }

  void join(Word& word, const Pair& pair, uint32_t joined) {
    std::vector<uint32_t>& symbols = word.symbols;
    const auto is_pair = [&](size_t i) {
      return symbols[i] == pair.first && symbols[i + 1] == pair.second;
    };
    bool found = false;
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      found = found || is_pair(i);
    if (!found) return;
    count_pairs(word, -word.count);
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (!is_pair(i)) continue;
      symbols[i] = joined;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    count_pairs(word, word.count);
  }

  std::vector<std::string> texts_;  // of each symbol
  std::vector<Word> words_;
  std::map<Pair, int64_t> counts_;
};

void learn_merges(const std::array<std::string, 256>& characters, int64_t tokens_wanted,
                  TokenList& list, Vocabulary& vocabulary) {
  MergeLearner learner(characters);
  while (list.size() < tokens_wanted) {
    const std::optional<MergeLearner::Merge> merge = learner.next();
    if (!merge) return;
    if (list.add(merge->left + merge->right)) {
      vocabulary.merges.push_back(merge->left + " " + merge->right);
    }
  }
}

// Large vocabularies: every token so far with one more letter, then those with one more, ...
void invent_merges(int64_t tokens_wanted, TokenList& list, Vocabulary& vocabulary) {
  for (size_t from = 0; list.size() < tokens_wanted; ++from) {
    const std::string stem = vocabulary.tokens[from];
    for (const char letter : kLetters) {
      if (list.size() == tokens_wanted) return;
      if (list.add(stem + letter)) vocabulary.merges.push_back(stem + " " + letter);
    }
  }
}

}  // namespace

int64_t smallest_bpe_vocabulary() {
  return 256 + static_cast<int64_t>(kBpeSpecials.size());
}

int64_t smallest_word_piece_vocabulary() {
  return static_cast<int64_t>(kWordPieceSpecials.size() + kMarks.size() +
                              2 * (kLetters.size() + kDigits.size()));
}

Vocabulary make_bpe_vocabulary(int64_t token_count) {
  ENSURE(token_count >= smallest_bpe_vocabulary(), "a BPE vocabulary of {} tokens", token_count);
  Vocabulary vocabulary;
  TokenList list(vocabulary);
  const std::array<std::string, 256> characters = make_byte_characters();
  for (const std::string& character : characters)
    list.add(character);

  const int64_t tokens_wanted = token_count - static_cast<int64_t>(kBpeSpecials.size());
  learn_merges(characters, tokens_wanted, list, vocabulary);
  invent_merges(tokens_wanted, list, vocabulary);
  for (const Special& special : kBpeSpecials)
    list.add(special.text, special.kind);
  return vocabulary;
}

Vocabulary make_word_piece_vocabulary(int64_t token_count) {
  ENSURE(token_count >= smallest_word_piece_vocabulary(), "a WordPiece vocabulary of {} tokens",
         token_count);
  Vocabulary vocabulary;
  TokenList list(vocabulary);
  const std::string start(kWordStart);
  for (const Special& special : kWordPieceSpecials)
    list.add(special.text, special.kind);
  for (const char mark : kMarks)
    list.add(start + mark);
  for (const std::string_view characters : {kLetters, kDigits}) {
    for (const char character : characters) {
      list.add(start + character);
      list.add(std::string(1, character));
    }
  }

  const auto add_if_room = [&](std::string token) {
    if (list.size() < token_count) list.add(std::move(token));
  };
  for (const std::string_view ending : common_endings())
    add_if_room(std::string(ending));
  for (const std::string_view word : common_words())
    add_if_room(start + std::string(word));
  for (size_t from = 0; list.size() < token_count; ++from) {
    const std::string stem = vocabulary.tokens[from];
    if (stem.front() == '[') continue;  // a special token
    for (const char letter : kLetters)
      add_if_room(stem + letter);
  }
  return vocabulary;
}

uint32_t id_of(const Vocabulary& vocabulary, std::string_view token) {
  const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
  ENSURE(found != vocabulary.tokens.end(), "{} is not in the vocabulary", token);
  return static_cast<uint32_t>(found - vocabulary.tokens.begin());
}

}  // namespace windrow::make_model
