#include "engine/structure/token_escapes.h"

#include <algorithm>
#include <utility>

namespace windrow::engine {

TokenEscapes::TokenEscapes(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::ranges::sort(entries_, std::ranges::greater(),
                    [](const Entry& entry) { return entry.text.size(); });
}

std::string TokenEscapes::escape(std::string_view text) const {
  std::string escaped;
  while (!text.empty()) {
    const auto found = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return text.starts_with(entry.text); });
    if (found == entries_.end()) {
      escaped += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (found->ends_answer) break;
    escaped += kEscape;
    escaped += found->text;
    text.remove_prefix(found->text.size());
  }
  return escaped;
}

const TokenEscapes::Entry* TokenEscapes::at_front(std::string_view escaped) const {
  if (!escaped.starts_with(kEscape)) return nullptr;
  escaped.remove_prefix(1);
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return escaped.starts_with(entry.text); });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace windrow::engine
