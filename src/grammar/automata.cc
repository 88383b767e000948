#include "grammar/automata.h"

#include <algorithm>
#include <utility>

namespace windrow::grammar {

ByteClasses::ByteClasses(const Grammar& grammar) {
  uint32_t count = 1;
  std::vector<uint32_t> class_of(256, 0);
  const auto divide = [&](const auto& kind_of) {
    if (count == 256) return;
    std::vector<std::pair<uint32_t, uint32_t>> kinds;  // class and kind, in order of appearance
    std::vector<uint32_t> divided(256);
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const std::pair kind(class_of[byte], uint32_t{kind_of(byte)});
      const auto at = std::find(kinds.begin(), kinds.end(), kind);
      divided[byte] = static_cast<uint32_t>(at - kinds.begin());
      if (at == kinds.end()) kinds.push_back(kind);
    }
    count = static_cast<uint32_t>(kinds.size());
    class_of = divided;
  };
  const std::vector<bool>& in_texts = grammar.texts.bytes_used();
  divide([&](uint32_t byte) { return in_texts[byte] ? byte : 256; });
  for (const auto& dfa : grammar.automata)
    divide([&](uint32_t byte) { return dfa->class_of[byte]; });

  byte_of_.assign(count, 0);
  bytes_in_.assign(count, 0);
  std::vector<bool> plain(count);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t byte_class = class_of[byte];
    class_of_[byte] = static_cast<uint8_t>(byte_class);
    byte_of_[byte_class] = static_cast<uint8_t>(byte);
    ++bytes_in_[byte_class];
    if (!begins_plain(static_cast<uint8_t>(byte)) || plain[byte_class]) continue;
    plain[byte_class] = true;
    plain_firsts_.push_back(static_cast<uint8_t>(byte));
  }
}

}  // namespace windrow::grammar
