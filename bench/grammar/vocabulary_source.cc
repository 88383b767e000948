#include "grammar/vocabulary_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>
#include <unordered_set>

#include "base/random.h"

namespace windrow::bench {
namespace {

constexpr size_t kControlTokens = 16;

int value_of(char letter) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t at = kAlphabet.find(letter);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::string from_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int have = 0;
  for (const char letter : text) {
    const int value = value_of(letter);
    if (value < 0) break;  // what pads it
    bits = (bits << 6U) | static_cast<uint32_t>(value);
    have += 6;
    if (have >= 8) {
      have -= 8;
      bytes += static_cast<char>((bits >> static_cast<uint32_t>(have)) & 0xFFU);
    }
  }
  return bytes;
}

void add_control_tokens(BenchVocabulary& vocabulary) {
  vocabulary.end_tokens = {static_cast<int32_t>(vocabulary.bytes.size())};
  for (size_t i = 0; i < kControlTokens; ++i)
    vocabulary.bytes.emplace_back();
}

// A word of syllables, in the letters of one script.
std::string word(Random& random) {
  static constexpr auto kOnsets = std::to_array<std::string_view>(
      {"b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "ch", ""});
  static constexpr auto kNuclei =
      std::to_array<std::string_view>({"a", "e", "i", "o", "u", "ea", "io", "er", "an", "on", "é"});
  std::string text;
  const uint64_t script = random.below(100);
  const uint64_t syllables = 1 + random.below(4);
  if (script < 75) {
    for (uint64_t i = 0; i < syllables; ++i) {
      text += kOnsets[random.below(kOnsets.size())];
      text += kNuclei[random.below(kNuclei.size())];
    }
    if (random.chance(0.3)) text += "s";
    if (random.chance(0.15) && text[0] >= 'a' && text[0] <= 'z') {
      text[0] = static_cast<char>(text[0] - 32);
    }
    return text;
  }
  // Cyrillic, Arabic, Devanagari, Han, Hangul, by their first character and how many follow.
  struct Script {
    uint32_t first;
    uint32_t count;
  };
  static constexpr std::array<Script, 5> kScripts{
      {{0x430, 32}, {0x627, 36}, {0x915, 37}, {0x4E00, 3000}, {0xAC00, 2000}}};
  const Script& one = kScripts[random.below(kScripts.size())];
  for (uint64_t i = 0; i < syllables; ++i) {
    const auto c = one.first + static_cast<uint32_t>(random.below(one.count));
    if (c < 0x800) {
      text += static_cast<char>(0xC0U | (c >> 6U));
    } else {
      text += static_cast<char>(0xE0U | (c >> 12U));
      text += static_cast<char>(0x80U | ((c >> 6U) & 0x3FU));
    }
    text += static_cast<char>(0x80U | (c & 0x3FU));
  }
  // Merges do not end where characters do.
  if (random.chance(0.15)) text.pop_back();
  return text;
}

std::string signs(Random& random) {
  static constexpr std::string_view kSigns = "\"{}[]:,.;()<>/\\'=-_*#+!?$%&@|~^`";
  std::string text = random.chance(0.3) ? " " : "";
  for (uint64_t left = 1 + random.below(4); left > 0; --left)
    text += kSigns[random.below(kSigns.size())];
  if (random.chance(0.2)) text += "\n";
  return text;
}

}  // namespace

BenchVocabulary read_vocabulary(const std::string& path, size_t tokens) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("{} cannot be read", path));
  BenchVocabulary made{.source = path.substr(path.rfind('/') + 1)};
  std::string line;
  while (made.bytes.size() + kControlTokens < tokens && std::getline(file, line))
    made.bytes.push_back(from_base64(line));
  if (made.bytes.size() < 256) throw std::runtime_error(fmt::format("{} is no vocabulary", path));
  add_control_tokens(made);
  return made;
}

BenchVocabulary made_up_vocabulary(uint64_t seed, size_t tokens) {
  Random random(seed);
  BenchVocabulary made{.source = "made up"};
  std::unordered_set<std::string> known;
  const auto add = [&](std::string bytes) {
    if (known.insert(bytes).second) made.bytes.push_back(std::move(bytes));
  };
  for (int byte = 0; byte < 256; ++byte)
    add(std::string(1, static_cast<char>(byte)));
  for (int number = 0; number < 1000; ++number)
    add(std::to_string(number));
  for (size_t blanks = 2; blanks < 80; ++blanks)
    add(std::string(blanks, ' '));
  while (made.bytes.size() + kControlTokens < tokens) {
    const uint64_t draw = random.below(100);
    add(draw < 50 ? " " + word(random) : draw < 95 ? word(random) : signs(random));
  }
  add_control_tokens(made);
  return made;
}

Tokenizer::Tokenizer(const BenchVocabulary& vocabulary) {
  for (size_t i = 0; i < vocabulary.bytes.size(); ++i) {
    uint32_t node = 0;
    for (const char byte : vocabulary.bytes[i]) {
      const auto [edge, added] = next_.try_emplace(edge_of(node, byte), nodes_);
      nodes_ += added ? 1 : 0;
      node = edge->second;
    }
    if (node != 0) token_of_.try_emplace(node, static_cast<int32_t>(i));
  }
}

std::vector<int32_t> Tokenizer::tokens(std::string_view text) const {
  std::vector<int32_t> made;
  while (!text.empty()) {
    uint32_t node = 0;
    size_t taken = 0;
    int32_t token = -1;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto edge = next_.find(edge_of(node, text[i]));
      if (edge == next_.end()) break;
      node = edge->second;
      const auto ends = token_of_.find(node);
      if (ends == token_of_.end()) continue;
      token = ends->second;
      taken = i + 1;
    }
    made.push_back(token);  // a single byte always is one
    text.remove_prefix(taken);
  }
  return made;
}

}  // namespace windrow::bench
