#include "api/wire/origins.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace windrow::api {
namespace {

bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

bool begins_step(char byte) {
  return byte == '.' || byte == '[';
}

// "messages[2].content" -> itself, "messages[2]", "messages".
std::vector<std::string_view> with_ancestors(std::string_view param) {
  std::vector<std::string_view> all{param};
  for (size_t i = param.size(); i-- > 1;) {
    if (begins_step(param[i])) all.push_back(param.substr(0, i));
  }
  return all;
}

bool begins_there(std::string_view text, size_t at) {
  return at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.');
}

// What is in it may follow where `with_parts`; else this is another field than meant.
bool ends_there(std::string_view text, size_t end, bool with_parts) {
  if (end == text.size()) return true;
  if (is_word(text[end])) return false;
  const bool part =
      text[end] == '[' || (text[end] == '.' && end + 1 < text.size() && is_word(text[end + 1]));
  return with_parts || !part;
}

}  // namespace

void Origins::add(std::string made, std::string sent) {
  if (made != sent) pairs_.emplace_back(std::move(made), std::move(sent));
}

std::string Origins::of(std::string_view made) const {
  for (const std::string_view part : with_ancestors(made)) {
    const auto found = std::ranges::find(pairs_, part, [](const auto& pair) { return pair.first; });
    if (found != pairs_.end()) return found->second + std::string(made.substr(part.size()));
  }
  return std::string(made);
}

llm::Failure Origins::to_client(llm::Failure failure) const {
  failure.raw.clear();  // a server elsewhere was asked in other words
  if (failure.param.empty()) return failure;
  // The longest first, so each place is rewritten once.
  const std::vector<std::string_view> names = with_ancestors(failure.param);
  std::string message;
  const std::string_view text = failure.message;
  for (size_t at = 0; at < text.size();) {
    const auto name = std::ranges::find_if(names, [&](std::string_view one) {
      return text.substr(at).starts_with(one) && begins_there(text, at) &&
             ends_there(text, at + one.size(), one.size() == failure.param.size());
    });
    if (name == names.end()) {
      message += text[at++];
    } else {
      message += of(*name);
      at += name->size();
    }
  }
  failure.message = std::move(message);
  failure.param = of(failure.param);
  return failure;
}

}  // namespace windrow::api
