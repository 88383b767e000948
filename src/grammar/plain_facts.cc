#include "grammar/plain_facts.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <iterator>
#include <optional>
#include <utility>

namespace windrow::grammar {
namespace {

using State = ByteDfa::State;
constexpr State kDead = ByteDfa::kDead;

// First bytes of plain characters that go on in the same way.
struct Lead {
  uint8_t first, last;
  int more;           // bytes behind it
  uint8_t low, high;  // range of the next byte; later ones may be any continuation byte
};
constexpr Lead kLeads[] = {{0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
                           {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F},
                           {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF},
                           {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F}};

class Finder {
 public:
  explicit Finder(const ByteDfa& dfa) : dfa_(dfa), facts_(dfa.accepting.size()) {
    for (unsigned byte = 0x20; byte < 0x7F; ++byte) {
      if (begins_plain(static_cast<uint8_t>(byte))) add_first(static_cast<uint8_t>(byte), ascii_);
    }
    leads_.resize(std::size(kLeads));
    for (size_t i = 0; i < std::size(kLeads); ++i) {
      for (unsigned byte = kLeads[i].first; byte <= kLeads[i].last; ++byte)
        add_first(static_cast<uint8_t>(byte), leads_[i]);
    }
    continued_ = one_of_each_class(0x80, 0xBF);
  }

  std::vector<PlainFacts> run() {
    behind_.resize(facts_.size());
    goes_plain_.resize(facts_.size());
    for (State state = 0; state < facts_.size(); ++state)
      look_at(state);
    find_before();
    find_free();
    find_dangers();
    for (State state = 0; state < facts_.size(); ++state) {
      PlainFacts& facts = facts_[state];
      facts.loops = facts.dangers_here.empty() && behind_[state] == std::vector<State>{state};
      facts.one_char = behind_[state].size() == 1 && dfa_.accepting[behind_[state][0]] &&
                       !facts_[behind_[state][0]].goes_on;
      find_free_behind(state);
    }
    return std::move(facts_);
  }

 private:
  // First bytes that go the same way everywhere: one of them.
  struct Firsts {
    uint8_t byte;
    ByteKinds kinds;  // all together
  };

  void add_first(uint8_t byte, std::vector<Firsts>& all) const {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Firsts& firsts) {
      return dfa_.class_of[firsts.byte] == dfa_.class_of[byte];
    });
    if (same == all.end()) {
      all.push_back({byte, ByteKinds::of(byte)});
    } else {
      same->kinds = same->kinds | ByteKinds::of(byte);
    }
  }

  std::vector<uint8_t> one_of_each_class(uint8_t first, uint8_t last) const {
    std::vector<uint8_t> some;
    std::vector<bool> seen(256);
    for (unsigned byte = first; byte <= last; ++byte) {
      const uint8_t byte_class = dfa_.class_of[byte];
      if (!seen[byte_class]) some.push_back(static_cast<uint8_t>(byte));
      seen[byte_class] = true;
    }
    return some;
  }

  // Where plain characters lead, but for the kinds of which one leads nowhere.
  void look_at(State state) {
    PlainFacts& facts = facts_[state];
    for (uint32_t byte_class = 0; byte_class < dfa_.classes_count; ++byte_class)
      facts.goes_on =
          facts.goes_on || dfa_.next_of[size_t{state} * dfa_.classes_count + byte_class] != kDead;
    facts.dangers_here = ByteKinds();
    std::vector<State>& found = behind_[state];
    for (const Firsts& firsts : ascii_) {
      const State to = dfa_.next(state, firsts.byte);
      if (to == kDead) {
        facts.dangers_here = facts.dangers_here | firsts.kinds;
      } else {
        goes_plain_[state] = true;
        if (found.empty() || found.back() != to) found.push_back(to);
      }
    }
    for (size_t i = 0; i < std::size(kLeads); ++i) {
      for (const Firsts& firsts : leads_[i]) {
        const State begun = dfa_.next(state, firsts.byte);
        const std::optional<std::vector<State>>* ends = nullptr;
        if (begun != kDead) {
          goes_plain_[state] = true;
          ends = &behind_bytes(begun, kLeads[i].more, kLeads[i].low, kLeads[i].high);
        }
        if (ends == nullptr || !*ends) {
          facts.dangers_here = facts.dangers_here | firsts.kinds;
        } else {
          found.insert(found.end(), (*ends)->begin(), (*ends)->end());
        }
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }

  // Where so many bytes that continue a character lead, of which the first is in [low, high].
  const std::optional<std::vector<State>>& behind_bytes(State from, int count, uint8_t low,
                                                        uint8_t high) {
    const uint64_t key = uint64_t{from} << 24 | static_cast<uint64_t>(count) << 16 |
                         static_cast<uint64_t>(low) << 8 | high;
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const bool any = low == 0x80 && high == 0xBF;
    std::optional<std::vector<State>> found(std::in_place);
    for (const uint8_t byte : any ? continued_ : one_of_each_class(low, high)) {
      const State to = dfa_.next(from, byte);
      if (to == kDead) {
        found.reset();
        break;
      }
      if (count == 1) {
        found->push_back(to);
        continue;
      }
      const auto& ends = behind_bytes(to, count - 1, 0x80, 0xBF);
      if (!ends) {
        found.reset();
        break;
      }
      found->insert(found->end(), ends->begin(), ends->end());
    }
    if (found) {
      std::sort(found->begin(), found->end());
      found->erase(std::unique(found->begin(), found->end()), found->end());
    }
    return known_.emplace(key, std::move(found)).first->second;
  }

  void find_before() {
    before_.resize(facts_.size());
    for (State state = 0; state < facts_.size(); ++state) {
      for (const State to : behind_[state])
        before_[to].push_back(state);
    }
  }

  // A kind that is dangerous in a later state is dangerous before it.
  void find_dangers() {
    std::vector<State> todo;
    for (State state = 0; state < facts_.size(); ++state) {
      facts_[state].dangers = facts_[state].dangers_here;
      todo.push_back(state);
    }
    while (!todo.empty()) {
      const ByteKinds dangers = facts_[todo.back()].dangers;
      const State at = todo.back();
      todo.pop_back();
      for (const State state : before_[at]) {
        const ByteKinds more = facts_[state].dangers | dangers;
        if (more == facts_[state].dangers) continue;
        facts_[state].dangers = more;
        todo.push_back(state);
      }
    }
  }

  // How far the nearest state is where a plain character leads nowhere: from there backwards.
  void find_free() {
    std::vector<State> order;
    for (State state = 0; state < facts_.size(); ++state) {
      if (!facts_[state].dangers_here.empty()) {
        facts_[state].exactly = !goes_plain_[state];
        order.push_back(state);
      } else {
        facts_[state].free_chars = PlainFacts::kForever;
      }
    }
    for (size_t at = 0; at < order.size(); ++at) {
      const unsigned next =
          std::min<unsigned>(facts_[order[at]].free_chars + 1U, PlainFacts::kForever - 1U);
      for (const State state : before_[order[at]]) {
        PlainFacts& facts = facts_[state];
        if (facts.free_chars != PlainFacts::kForever) continue;
        facts.free_chars = static_cast<uint16_t>(next);
        order.push_back(state);
      }
    }
    for (const State state : order) {  // nearer ones come first
      if (!facts_[state].dangers_here.empty()) continue;
      facts_[state].exactly =
          std::all_of(behind_[state].begin(), behind_[state].end(), [&](State to) {
            return facts_[to].exactly && facts_[to].free_chars + 1 == facts_[state].free_chars;
          });
    }
  }

  void find_free_behind(State state) {
    if (dfa_.next(state, 0x80) == kDead || dfa_.next(state, 'a') != kDead) return;
    for (int more = 1; more <= 3; ++more) {
      const auto& ends = behind_bytes(state, more, 0x80, 0xBF);
      if (!ends) continue;
      const bool free = std::all_of(ends->begin(), ends->end(), [&](State to) {
        return facts_[to].free_chars == PlainFacts::kForever;
      });
      if (free) facts_[state].free_behind |= static_cast<uint8_t>(1 << more);
    }
  }

  const ByteDfa& dfa_;
  std::vector<PlainFacts> facts_;
  std::vector<Firsts> ascii_;
  std::vector<std::vector<Firsts>> leads_;  // as kLeads
  std::vector<uint8_t> continued_;
  std::vector<std::vector<State>> behind_;  // a plain character that is no danger here
  std::vector<std::vector<State>> before_;  // the other way round
  std::vector<bool> goes_plain_;            // with one of them, or its first byte, it may go on
  boost::unordered_flat_map<uint64_t, std::optional<std::vector<State>>> known_;
};

}  // namespace

std::vector<PlainFacts> find_plain_facts(const ByteDfa& dfa) {
  return Finder(dfa).run();
}

}  // namespace windrow::grammar
