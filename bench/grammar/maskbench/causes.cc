#include "grammar/maskbench/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>
#include <vector>

namespace windrow::bench {
namespace {

constexpr size_t kSentenceMax = 90;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// The last part of the pointer that is not a number: mostly the keyword.
std::string_view keyword_of(std::string_view pointer) {
  while (!pointer.empty()) {
    const size_t slash = pointer.rfind('/');
    if (slash == std::string_view::npos) break;
    const std::string_view last = pointer.substr(slash + 1);
    if (!std::ranges::all_of(last, is_digit)) return last;
    pointer = pointer.substr(0, slash);
  }
  return "#";
}

// Without what differs from schema to schema.
std::string sentence_of(std::string_view text) {
  std::string sentence;
  for (size_t at = 0; at < text.size() && sentence.size() < kSentenceMax; ++at) {
    const char c = text[at];
    if (c == '"' || c == '`') {
      const size_t end = text.find(c, at + 1);
      sentence += "..";
      if (end == std::string_view::npos) break;
      at = end;
    } else if (is_digit(c)) {
      if (!sentence.ends_with('N')) sentence += 'N';
    } else {
      sentence += c == '|' ? '/' : c;
    }
  }
  return sentence;
}

}  // namespace

void Causes::add(std::string_view verdict, std::string_view message) {
  constexpr std::string_view kAt = "at #";
  const size_t colon = message.find(": ");
  std::string cause;
  if (message.starts_with(kAt) && colon != std::string_view::npos) {
    cause = fmt::format("{} | {} | {}", verdict, keyword_of(message.substr(3, colon - 3)),
                        sentence_of(message.substr(colon + 2)));
  } else {
    cause = fmt::format("{} | | {}", verdict, sentence_of(message));
  }
  ++counts_[std::move(cause)];
}

void Causes::print() const {
  std::vector<std::pair<size_t, std::string_view>> sorted;
  for (const auto& [cause, count] : counts_)
    sorted.emplace_back(count, cause);
  std::ranges::sort(sorted, std::greater());
  fmt::print("\n| count | verdict | keyword | why |\n|---:|:---|:---|:---|\n");
  for (const auto& [count, cause] : sorted)
    fmt::print("| {} | {} |\n", count, cause);
}

}  // namespace windrow::bench
