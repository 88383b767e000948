#include "memory/retain/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/utf8.h"

namespace windrow::memory {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

std::string_view trimmed_front(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

std::string_view without_blanks_around(std::string_view text) {
  text = trimmed_front(text);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// The bytes of the first `count` characters; a byte that is no UTF-8 counts as one.
size_t bytes_of_characters(std::string_view text, int32_t count) {
  std::string_view rest = text;
  for (int32_t i = 0; i < count && !rest.empty(); ++i)
    if (!take_code_point(rest)) rest.remove_prefix(1);
  return text.size() - rest.size();
}

// The end of the last occurrence of one of `ends` after `begin`; 0 if there is none.
size_t last_end(std::string_view text, size_t begin, std::span<const std::string_view> ends) {
  size_t last = 0;
  for (const std::string_view end : ends) {
    const size_t at = text.rfind(end);
    if (at != std::string_view::npos && at >= begin) last = std::max(last, at + end.size());
  }
  return last;
}

// Where the first piece of a text ends that has more than this window.
size_t cut_of(std::string_view window) {
  constexpr std::string_view kParagraphs[] = {"\n\n", "\r\n\r\n"};
  constexpr std::string_view kSentences[] = {". ",  "! ", "? ", ".\n", "!\n",
                                             "?\n", "\n", "。", "！",  "？"};
  constexpr std::string_view kWords[] = {" ", "\t"};
  // A cut in the first half would make pieces small; between words any is better than in one.
  const size_t half = window.size() / 2;
  size_t cut = last_end(window, half, kParagraphs);
  if (cut == 0) cut = last_end(window, half, kSentences);
  if (cut == 0) cut = last_end(window, 1, kWords);
  return cut == 0 ? window.size() : cut;
}

Chunk chunk_at(std::string_view bank, std::string_view document, int32_t index,
               const std::string& text) {
  return {.id = fmt::format("{}_{}_{}", bank, document, index),
          .document_id = std::string(document),
          .index = index,
          .text = text};
}

// Gives out indices that are not taken.
class Indices {
 public:
  void take(int32_t index) {
    taken_.insert(index);
    next_ = std::max(next_, index + 1);
  }

  int32_t free_one(int32_t wanted) {
    const int32_t index = taken_.contains(wanted) ? next_ : wanted;
    take(index);
    return index;
  }

 private:
  std::set<int32_t> taken_;
  int32_t next_ = 0;
};

}  // namespace

std::vector<std::string> chunks_of(std::string_view text, int32_t characters_max) {
  std::vector<std::string> chunks;
  for (std::string_view rest = without_blanks_around(text); !rest.empty();
       rest = trimmed_front(rest)) {
    const size_t window = bytes_of_characters(rest, std::max(characters_max, 1));
    const size_t cut = window == rest.size() ? window : cut_of(rest.substr(0, window));
    chunks.emplace_back(without_blanks_around(rest.substr(0, cut)));
    rest.remove_prefix(cut);
  }
  return chunks;
}

DocumentDelta replaced(std::string_view bank, std::string_view document,
                       std::span<const Chunk> before, std::span<const std::string> texts) {
  std::multimap<std::string_view, const Chunk*> old;
  for (const Chunk& chunk : before)
    old.emplace(chunk.text, &chunk);

  Indices indices;
  std::vector<size_t> new_texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto found = old.find(texts[i]);
    if (found == old.end()) {
      new_texts.push_back(i);
    } else {
      indices.take(found->second->index);
      old.erase(found);
    }
  }

  DocumentDelta delta;
  for (const Chunk& chunk : before) {
    const auto [first, last] = old.equal_range(chunk.text);
    if (std::any_of(first, last, [&chunk](const auto& left) { return left.second == &chunk; }))
      delta.gone.push_back(chunk.id);
  }
  for (const size_t i : new_texts) {
    const int32_t index = indices.free_one(static_cast<int32_t>(i));
    delta.added.push_back({.chunk = chunk_at(bank, document, index, texts[i]), .text = i});
  }
  return delta;
}

DocumentDelta appended(std::string_view bank, std::string_view document,
                       std::span<const Chunk> before, std::span<const std::string> texts) {
  Indices indices;
  for (const Chunk& chunk : before)
    indices.take(chunk.index);
  DocumentDelta delta;
  for (size_t i = 0; i < texts.size(); ++i) {
    const int32_t index = indices.free_one(static_cast<int32_t>(before.size() + i));
    delta.added.push_back({.chunk = chunk_at(bank, document, index, texts[i]), .text = i});
  }
  return delta;
}

}  // namespace windrow::memory
