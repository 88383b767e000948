#include "engine/structure/spelled_marks.h"

#include <algorithm>
#include <utility>

namespace windrow::engine {

SpelledMarks::SpelledMarks(std::vector<Mark> marks) : marks_(std::move(marks)) {
  std::ranges::sort(marks_, std::ranges::greater(),
                    [](const Mark& mark) { return mark.text.size(); });
}

std::string SpelledMarks::spell(std::string_view text) const {
  std::string spelled;
  while (!text.empty()) {
    const auto found =
        std::ranges::find_if(marks_, [&](const Mark& mark) { return text.starts_with(mark.text); });
    if (found == marks_.end()) {
      spelled += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (found->ends_answer) break;
    spelled += kSign;
    spelled += found->text;
    text.remove_prefix(found->text.size());
  }
  return spelled;
}

const SpelledMarks::Mark* SpelledMarks::at_front(std::string_view spelled) const {
  if (!spelled.starts_with(kSign)) return nullptr;
  spelled.remove_prefix(1);
  const auto found = std::ranges::find_if(
      marks_, [&](const Mark& mark) { return spelled.starts_with(mark.text); });
  return found == marks_.end() ? nullptr : &*found;
}

}  // namespace windrow::engine
