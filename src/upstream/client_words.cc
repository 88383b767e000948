#include "upstream/client_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace windrow::upstream {
namespace {

// Of calls that brought no reply: their texts are for those who can mend it.
struct Words {
  std::string_view code;
  std::string_view text;  // behind the name
};
constexpr std::array<Words, 7> kWords = {{
    {.code = "upstream_unreachable", .text = "cannot be reached; try again later"},
    {.code = "tls_failed", .text = "cannot be reached; try again later"},
    {.code = "proxy_failed", .text = "cannot be reached; try again later"},
    {.code = "upstream_timeout", .text = "did not answer in time; try again, or ask for less"},
    {.code = "connection_reset", .text = "broke the connection off; try again"},
    {.code = "reply_too_large", .text = "sent a reply that is too large; ask for less"},
    {.code = "stream_broken", .text = "broke the stream off; try again"},
}};

bool is_redirect(const llm::Failure& failure) {
  return failure.replied && failure.status >= 300 && failure.status <= 399;
}

}  // namespace

std::string client_words(const llm::Failure& failure, std::string_view origin,
                         std::string_view name) {
  if (is_redirect(failure)) return fmt::format("{} points to another place", name);
  const auto* const words = std::ranges::find(kWords, failure.code, &Words::code);
  // A stream that broke off is a kind of reply, too.
  const bool of_ours = !failure.replied || failure.code == "stream_broken";
  if (words != kWords.end() && of_ours && failure.raw.empty())
    return fmt::format("{} {}", name, words->text);
  std::string text = failure.message;
  for (size_t at = text.find(origin); at != std::string::npos && !origin.empty();
       at = text.find(origin, at + name.size()))
    text.replace(at, origin.size(), name);
  return text;
}

}  // namespace windrow::upstream
