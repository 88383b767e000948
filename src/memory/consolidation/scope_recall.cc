#include "memory/consolidation/scope_recall.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"
#include "vectors/flat_segment.h"

namespace windrow::memory {
namespace {

// Observations by their place in the scope.
using Places = std::vector<size_t>;

bool is_of_a_script_without_blanks(char32_t code_point) {
  return code_point >= 0x2E80 && code_point < 0xA000;  // kana, Han and their signs
}

// Runs of letters and digits in lower case (of ASCII; others stay as they are). In scripts without
// blanks each character is a word.
std::unordered_set<std::string> words_of(std::string_view text) {
  std::unordered_set<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.insert(std::exchange(word, {}));
  };
  while (!text.empty()) {
    const std::optional<char32_t> code_point = take_code_point(text);
    if (!code_point) {
      text.remove_prefix(1);
      continue;
    }
    if (is_of_a_script_without_blanks(*code_point)) {
      end_word();
      append_utf8(*code_point, word);
      end_word();
    } else if (*code_point >= 0x80 || (*code_point >= '0' && *code_point <= '9') ||
               (*code_point >= 'a' && *code_point <= 'z')) {
      append_utf8(*code_point, word);
    } else if (*code_point >= 'A' && *code_point <= 'Z') {
      word += static_cast<char>(*code_point - 'A' + 'a');
    } else {
      end_word();
    }
  }
  end_word();
  return words;
}

// Ranks the observations of one scope.
class ScopeRanking {
 public:
  ScopeRanking(std::span<const Memory> observations, const ScopeRecallOptions& options,
               const CountTokens& count_tokens)
      : observations_(observations),
        options_(options),
        count_tokens_(count_tokens),
        tokens_(observations.size(), -1),
        word_counts_(observations.size()) {
    for (size_t place = 0; place < observations.size(); ++place) {
      const auto words = words_of(observations[place].text);
      word_counts_[place] = words.size();
      for (const std::string& word : words)
        places_with_[word].push_back(place);
    }
  }

  // The ranking for one fact, as far as it is shown: observations without an embedding, and the
  // others behind them.
  struct Ranked {
    Places fresh;
    Places others;
  };

  Ranked rank(const Memory& fact) {
    const std::vector<double> overlaps = overlaps_with(fact);
    Ranked ranked;
    Places by_words;
    Places by_cosine;
    std::vector<double> cosines(observations_.size());
    for (size_t place = 0; place < observations_.size(); ++place) {
      const std::vector<float>& embedding = observations_[place].embedding;
      if (fact.embedding.empty() || embedding.size() != fact.embedding.size()) {
        // A fact without an embedding has no other ranking than words.
        (fact.embedding.empty() ? by_words : ranked.fresh).push_back(place);
        continue;
      }
      cosines[place] = vectors::inner_product(fact.embedding, embedding);
      by_cosine.push_back(place);
      if (overlaps[place] > 0) by_words.push_back(place);
    }
    keep_best(ranked.fresh, overlaps);
    keep_best(by_words, overlaps);
    keep_best(by_cosine, cosines);
    ranked.others = interleaved(by_cosine, by_words);
    cut(ranked);
    return ranked;
  }

  static Places interleaved(const Places& one, const Places& other) {
    Places both;
    std::unordered_set<size_t> seen;
    for (size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
      if (i < one.size() && seen.insert(one[i]).second) both.push_back(one[i]);
      if (i < other.size() && seen.insert(other[i]).second) both.push_back(other[i]);
    }
    return both;
  }

 private:
  // The words in common; a word says the more, the fewer observations have it, and a long
  // observation has many by chance.
  std::vector<double> overlaps_with(const Memory& fact) const {
    std::vector<double> overlaps(observations_.size());
    // In a fixed order: sums of floating point depend on it.
    const auto words = words_of(fact.text);
    std::vector<std::string_view> sorted(words.begin(), words.end());
    std::ranges::sort(sorted);
    for (const std::string_view word : sorted) {
      const auto places = places_with_.find(std::string(word));
      if (places == places_with_.end()) continue;
      const double weight = std::log1p(static_cast<double>(observations_.size()) /
                                       static_cast<double>(places->second.size()));
      for (const size_t place : places->second)
        overlaps[place] += weight;
    }
    for (size_t place = 0; place < overlaps.size(); ++place) {
      if (overlaps[place] > 0)
        overlaps[place] /= std::sqrt(static_cast<double>(word_counts_[place]));
    }
    return overlaps;
  }

  // Sorts by score, equal ones by age, and drops what no budget could show.
  void keep_best(Places& places, const std::vector<double>& scores) const {
    const auto kept = std::min(std::ssize(places),
                               static_cast<ptrdiff_t>(std::max<int64_t>(options_.tokens_max, 1)));
    std::ranges::partial_sort(places, places.begin() + kept, [&](size_t one, size_t other) {
      return scores[one] != scores[other] ? scores[one] > scores[other] : one < other;
    });
    places.resize(static_cast<size_t>(kept));
  }

  // Up to the first one that would be too much; the best one is shown however long it is.
  void cut(Ranked& ranked) {
    int64_t tokens = 0;
    bool is_first = true;
    bool is_over = false;
    const auto cut_list = [&](Places& places) {
      size_t kept = 0;
      while (kept < places.size() && !is_over) {
        tokens += tokens_of(places[kept]);
        is_over = tokens > options_.tokens_max && !is_first;
        if (!is_over) ++kept;
        is_first = false;
      }
      places.resize(kept);
    };
    cut_list(ranked.fresh);
    cut_list(ranked.others);
  }

  int64_t tokens_of(size_t place) {
    int64_t& tokens = tokens_[place];
    if (tokens < 0) tokens = std::max<int64_t>(count_tokens_(observations_[place].text), 1);
    return tokens;
  }

  std::span<const Memory> observations_;
  const ScopeRecallOptions& options_;
  const CountTokens& count_tokens_;
  std::vector<int64_t> tokens_;  // -1: not counted yet
  std::vector<size_t> word_counts_;
  std::unordered_map<std::string, Places> places_with_;  // by word
};

// The facts take turns until there are so many.
std::unordered_set<size_t> chosen(const std::vector<ScopeRanking::Ranked>& rankings,
                                  size_t shown_max) {
  std::vector<Places> turns;
  size_t rounds = 0;
  for (const ScopeRanking::Ranked& ranked : rankings) {
    turns.push_back(ScopeRanking::interleaved(ranked.fresh, ranked.others));
    rounds = std::max(rounds, turns.back().size());
  }
  std::unordered_set<size_t> places;
  for (size_t round = 0; round < rounds; ++round) {
    for (const Places& turn : turns) {
      if (places.size() >= shown_max) return places;
      if (round < turn.size()) places.insert(turn[round]);
    }
  }
  return places;
}

}  // namespace

std::vector<ShownObservation> recall_in_scope(std::span<const Memory> facts,
                                              std::span<const Memory> observations,
                                              const ScopeRecallOptions& options,
                                              const CountTokens& count_tokens) {
  ScopeRanking ranking(observations, options, count_tokens);
  std::vector<ScopeRanking::Ranked> rankings;
  rankings.reserve(facts.size());
  for (const Memory& fact : facts)
    rankings.push_back(ranking.rank(fact));
  const std::unordered_set<size_t> kept =
      chosen(rankings, static_cast<size_t>(std::max(options.shown_max, 0)));

  std::vector<ShownObservation> shown;
  std::unordered_map<size_t, size_t> index_of;  // in `shown`, by place
  for (size_t i = 0; i < facts.size(); ++i) {
    for (const Places* const places : {&rankings[i].fresh, &rankings[i].others}) {
      for (const size_t place : *places) {
        if (!kept.contains(place)) continue;
        const auto [index, is_new] = index_of.try_emplace(place, shown.size());
        if (is_new) shown.push_back({.observation = observations[place], .recalled_for = {}});
        shown[index->second].recalled_for.push_back(facts[i].id);
      }
    }
  }
  return shown;
}

}  // namespace windrow::memory
