#include "engine/sim/sim_vocabulary.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "engine/sim/sim_options.h"

namespace windrow::engine::sim {
namespace {

// Frequent pieces of English words, so that a word that is not in the list takes a few tokens and
// not one for each letter; and what chat templates write.
constexpr std::string_view kPieces[] = {
    "user", "system", "assistant", "th",   "he",   "in", "er",  "an", "re", "on",  "at",
    "en",   "nd",     "ti",        "es",   "or",   "te", "of",  "ed", "is", "it",  "al",
    "ar",   "st",     "to",        "nt",   "ng",   "se", "ha",  "as", "ou", "io",  "le",
    "ve",   "co",     "me",        "de",   "hi",   "ri", "ro",  "ic", "ne", "ea",  "ra",
    "ce",   "li",     "ch",        "ll",   "be",   "ma", "si",  "om", "ur", "ing", "ion",
    "ent",  "ate",    "ter",       "ment", "tion", "  ", "\n\n"};

constexpr std::string_view kWords[] = {
    "the",   "of",    "and",    "a",      "to",     "in",     "is",     "you",   "that",  "it",
    "he",    "was",   "for",    "on",     "are",    "as",     "with",   "his",   "they",  "I",
    "at",    "be",    "this",   "have",   "from",   "or",     "one",    "had",   "by",    "word",
    "but",   "not",   "what",   "all",    "were",   "we",     "when",   "your",  "can",   "said",
    "there", "use",   "an",     "each",   "which",  "she",    "do",     "how",   "their", "if",
    "will",  "up",    "other",  "about",  "out",    "many",   "then",   "them",  "these", "so",
    "some",  "her",   "would",  "make",   "like",   "him",    "into",   "time",  "has",   "look",
    "two",   "more",  "write",  "go",     "see",    "number", "no",     "way",   "could", "people",
    "my",    "than",  "first",  "water",  "been",   "call",   "who",    "oil",   "its",   "now",
    "find",  "long",  "down",   "day",    "did",    "get",    "come",   "made",  "may",   "part",
    "over",  "new",   "sound",  "take",   "only",   "little", "work",   "know",  "place", "year",
    "live",  "me",    "back",   "give",   "most",   "very",   "after",  "thing", "our",   "just",
    "name",  "good",  "man",    "think",  "say",    "great",  "where",  "help",  "much",  "before",
    "line",  "right", "too",    "mean",   "old",    "any",    "same",   "tell",  "boy",   "follow",
    "came",  "want",  "show",   "also",   "form",   "three",  "small",  "set",   "put",   "end",
    "does",  "well",  "large",  "must",   "big",    "even",   "such",   "turn",  "here",  "why",
    "ask",   "went",  "men",    "read",   "need",   "land",   "house",  "us",    "move",  "try",
    "kind",  "hand",  "again",  "change", "off",    "play",   "escape", "air",   "away",  "animal",
    "point", "page",  "letter", "mother", "answer", "found",  "study",  "still", "learn", "should",
    "world"};

// " bakori": consonants and vowels, by the digits of a number. No two numbers make the same.
std::string made_up_word(size_t number) {
  constexpr std::string_view kConsonants = "bdfgklmnprstvz";
  constexpr std::string_view kVowels = "aeiou";
  std::string word = " ";
  size_t left = number;
  for (int syllable = 0; syllable < 3 || left > 0; ++syllable) {
    word += kConsonants[left % kConsonants.size()];
    left /= kConsonants.size();
    word += kVowels[left % kVowels.size()];
    left /= kVowels.size();
  }
  return word;
}

}  // namespace

SimVocabulary::SimVocabulary(int32_t size) {
  ENSURE(size >= kVocabularyMin, "{} entries are too few", size);
  texts_.reserve(static_cast<size_t>(size));
  nodes_.emplace_back();
  for (int byte = 0; byte < 256; ++byte)
    add(std::string(1, static_cast<char>(byte)));
  // Not in the tree: a text never means them unless it is parsed for them.
  texts_.insert(texts_.end(), {"<|im_start|>", "<|im_end|>", "<|sep|>"});
  for (const std::string_view piece : kPieces)
    add(std::string(piece));
  first_spoken_ = this->size();
  for (const std::string_view word : kWords)
    add(" " + std::string(word));
  const Token first_made_up = this->size();
  for (size_t number = 0; this->size() < size; ++number) {
    std::string word = made_up_word(number);
    if (std::ranges::find(texts_.begin() + first_spoken_, texts_.begin() + first_made_up, word) ==
        texts_.begin() + first_made_up) {
      add(std::move(word));
    }
  }
}

void SimVocabulary::add(std::string text) {
  size_t at = 0;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (nodes_[at].next[byte] == 0) {
      const auto made = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[at].next[byte] = made;
    }
    at = nodes_[at].next[byte];
  }
  ENSURE(nodes_[at].token < 0, "\"{}\" is there twice", text);
  nodes_[at].token = size();
  longest_ = std::max(longest_, text.size());
  texts_.push_back(std::move(text));
}

std::vector<Token> SimVocabulary::tokenize(std::string_view text, ControlTokens control) const {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 2 + 1);
  while (!text.empty()) {
    if (control == ControlTokens::kParsed && text.front() == '<') {
      const auto named =
          std::find_if(texts_.begin() + kStart, texts_.begin() + kFirstWord,
                       [&](const std::string& name) { return text.starts_with(name); });
      if (named != texts_.begin() + kFirstWord) {
        tokens.push_back(static_cast<Token>(named - texts_.begin()));
        text.remove_prefix(named->size());
        continue;
      }
    }
    // Every byte is an entry, so one is always found.
    Token best = static_cast<unsigned char>(text.front());
    size_t best_size = 1;
    size_t at = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      at = nodes_[at].next[static_cast<unsigned char>(text[i])];
      if (at == 0) break;
      if (nodes_[at].token < 0) continue;
      best = nodes_[at].token;
      best_size = i + 1;
    }
    tokens.push_back(best);
    text.remove_prefix(best_size);
  }
  return tokens;
}

void SimVocabulary::append_bytes(Token token, std::string& text) const {
  if (token < kStart || token >= kFirstWord) append_piece(token, text);
}

void SimVocabulary::append_piece(Token token, std::string& text) const {
  text += texts_.at(static_cast<size_t>(token));
}

std::vector<ControlToken> SimVocabulary::control_tokens() const {
  std::vector<ControlToken> list;
  for (Token token = kStart; token < kFirstWord; ++token)
    list.push_back({.text = texts_[static_cast<size_t>(token)], .token = token});
  return list;
}

}  // namespace windrow::engine::sim
