#include "grammar/testing/distinct_arrays.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"
#include "grammar/lexeme/regex.h"

namespace windrow::grammar::testing {
namespace {

constexpr size_t kTextsMax = 4000;

// A value: a scalar (one of some words) or an array.
struct Value {
  std::set<std::string> texts;
  bool is_scalar = false;
  std::optional<Part> plain;
  std::optional<Part> distinct;  // only scalars
};

class Making {
 public:
  explicit Making(Random& random) : random_(random) {}

  std::shared_ptr<const ArraysLanguage> run() {
    std::vector<Part> choices;
    std::set<std::string> texts;
    for (uint64_t left = 1 + random_.below(3); left > 0; --left) {
      const Value value = array(2);
      choices.push_back(*value.plain);
      texts.insert(value.texts.begin(), value.texts.end());
    }
    if (too_many_ || texts.size() > kTextsMax) return nullptr;
    Part root = builder_.choice(choices);
    // Brackets that are none, around it or before it, and a second one.
    const uint64_t form = random_.below(4);
    if (form == 0) {
      root = builder_.sequence({builder_.text("<[{>"), root, builder_.text("</>")});
      texts = joined({{"<[{>"}, texts, {"</>"}});
    } else if (form == 1 && texts.size() < 60) {
      root = builder_.sequence({builder_.text("<a]>"), root, builder_.text("<b>"), root});
      texts = joined({{"<a]>"}, texts, {"<b>"}, texts});
    }
    auto grammar = builder_.finish(root);
    return std::make_shared<const ArraysLanguage>(
        ArraysLanguage{.grammar = std::move(grammar).value(), .texts = std::move(texts)});
  }

 private:
  static std::set<std::string> joined(const std::vector<std::set<std::string>>& all) {
    std::set<std::string> result = {""};
    for (const std::set<std::string>& each : all) {
      std::set<std::string> longer;
      for (const std::string& begin : result) {
        for (const std::string& end : each)
          longer.insert(begin + end);
      }
      result = std::move(longer);
    }
    return result;
  }

  Value scalar() {
    static const std::vector<std::string> kWords = {
        "1", "2", "12", "21", "112", "\"\"", "\"a\"", "\"ab\"", "\"b\"", "\"[\"", "t", "13"};
    Value value{.is_scalar = true};
    std::shared_ptr<const ByteDfa> dfa;
    if (random_.chance(0.15)) {  // without end
      dfa = utf8_dfa(regex_dfa("33*", RegexMeaning::kWhole).value());
      for (size_t i = 1; i <= ArraysLanguage::kLongMax; ++i)
        value.texts.insert(std::string(i, ArraysLanguage::kLongLetter));
    } else {
      for (uint64_t left = 1 + random_.below(4); left > 0; --left)
        value.texts.insert(kWords[random_.below(kWords.size())]);
      const std::vector<std::string_view> words(value.texts.begin(), value.texts.end());
      dfa = utf8_dfa(CharDfa::literals(words));
    }
    value.plain = builder_.lexeme(dfa);
    value.distinct = builder_.distinct_lexeme(dfa);
    return value;
  }

  // `[`, maybe a first item of its own, others, `]`.
  Value array(int depth) {
    const bool distinct = random_.chance(0.7);
    const auto part_of = [&](const Value& value) {
      return distinct && value.is_scalar ? *value.distinct : *value.plain;
    };
    std::vector<Value> items;
    for (uint64_t left = 1 + random_.below(2); left > 0; --left)
      items.push_back(depth > 1 && random_.chance(0.3) ? array(depth - 1) : scalar());
    std::optional<Value> first;
    if (random_.chance(0.3)) first = scalar();
    std::vector<Part> choices;
    std::set<std::string> scalars;
    bool endless = false;
    for (const Value& item : items) {
      choices.push_back(part_of(item));
      if (item.is_scalar) scalars.insert(item.texts.begin(), item.texts.end());
      endless |= !item.is_scalar;
    }
    // The i-th item that is needed has at least i texts.
    const size_t known = scalars.size();
    const uint32_t most = static_cast<uint32_t>(random_.below(first ? 3 : 4));
    uint32_t least = static_cast<uint32_t>(random_.below(most + 1));
    if (distinct && !endless)
      least = std::min<uint32_t>(least, static_cast<uint32_t>(known) - (first ? 1 : 0));
    const bool spaces = random_.chance(0.3);
    const Part space = builder_.repeat(builder_.text(" "), 0, spaces ? 1 : 0);
    const Part item = builder_.sequence({builder_.choice(choices), space});
    const Part more = builder_.sequence({builder_.text(","), space, item});
    std::vector<Part> body = {builder_.text("[")};
    if (first) {
      body.push_back(part_of(*first));
      body.push_back(space);
      body.push_back(builder_.repeat(more, least, most));
    } else if (most > 0) {
      body.push_back(space);
      const Part some =
          builder_.sequence({item, builder_.repeat(more, least > 0 ? least - 1 : 0, most - 1)});
      body.push_back(least > 0 ? some : builder_.repeat(some, 0, 1));
    } else {
      body.push_back(space);
    }
    body.push_back(builder_.text("]"));

    Value value{.plain = builder_.container(builder_.sequence(body))};
    const std::string gap = spaces ? " " : "";
    std::vector<std::string> seen;
    const auto add = [&](const auto& self, const std::string& text, uint32_t count,
                         bool is_begin) -> void {
      if (value.texts.size() > kTextsMax) too_many_ = true;
      if (too_many_) return;
      if (count >= least) value.texts.insert(text + "]");
      if (count == most) return;
      const std::vector<std::string> marks =
          is_begin ? std::vector<std::string>{""} : gaps(",", gap);
      for (const Value& each : items) {
        for (const std::string& word : each.texts) {
          const bool counts = distinct && each.is_scalar;
          if (counts && std::ranges::find(seen, word) != seen.end()) continue;
          if (counts) seen.push_back(word);
          for (const std::string& mark : marks) {
            for (const std::string& whole : gaps(word, gap))
              self(self, text + mark + whole, count + 1, false);
          }
          if (counts) seen.pop_back();
        }
      }
    };
    if (first) {
      for (const std::string& word : first->texts) {
        if (distinct) seen = {word};
        for (const std::string& whole : gaps(word, gap))
          add(add, "[" + whole, 0, false);
      }
    } else {
      for (const std::string& whole : gaps("[", gap))
        add(add, whole, 0, true);
    }
    return value;
  }

  // With and without white space after it.
  static std::vector<std::string> gaps(const std::string& text, const std::string& gap) {
    if (gap.empty()) return {text};
    return {text, text + gap};
  }

  Random& random_;
  GrammarBuilder builder_;
  bool too_many_ = false;
};

}  // namespace

std::shared_ptr<const ArraysLanguage> random_arrays(Random& random) {
  return Making(random).run();
}

}  // namespace windrow::grammar::testing
