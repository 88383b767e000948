#include "upstream/redact_for_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace windrow::upstream {
namespace {

// Failures without a reply: their messages are for the operator.
struct Words {
  std::string_view code;
  std::string_view text;  // follows the name
};
constexpr std::array<Words, 8> kWords = {{
    {.code = "upstream_unreachable", .text = "cannot be reached; try again later"},
    {.code = "too_many_open_files",
     .text = "gets no more requests at this moment, as too many are on their way; try again later"},
    {.code = "tls_failed", .text = "cannot be reached; try again later"},
    {.code = "proxy_failed", .text = "cannot be reached; try again later"},
    {.code = "upstream_timeout", .text = "did not answer in time; try again, or ask for less"},
    {.code = "connection_reset", .text = "broke the connection off; try again"},
    {.code = "reply_too_large", .text = "sent a reply that is too large; ask for less"},
    {.code = "stream_broken", .text = "broke the stream off; try again"},
}};

bool is_redirect_status(const llm::Failure& failure) {
  return failure.replied && failure.status >= 300 && failure.status <= 399;
}

// The key, or what it permits.
bool is_denial(const llm::Failure& failure) {
  return failure.replied && failure.failure_class == llm::FailureClass::kBackend &&
         (failure.status == 401 || failure.status == 403);
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty()) return;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

std::string redact_for_client(const llm::Failure& failure, std::string_view origin,
                              std::string_view name) {
  if (is_redirect_status(failure)) return fmt::format("{} redirects to another address", name);
  if (is_denial(failure))
    return fmt::format("{} refuses requests of this server; its operator has to fix that", name);
  const auto* const words = std::ranges::find(kWords, failure.code, &Words::code);
  // A stream that broke off had a reply, too.
  const bool of_ours = !failure.replied || failure.code == "stream_broken";
  if (words != kWords.end() && of_ours && failure.raw.empty())
    return fmt::format("{} {}", name, words->text);
  std::string text = failure.message;
  replace_all(text, origin, name);
  return text;
}

llm::Failure for_clients(llm::Failure failure, std::string_view origin, std::string_view name) {
  failure.message = redact_for_client(failure, origin, name);
  const bool denied = is_denial(failure);
  if (denied || is_redirect_status(failure)) {
    failure.code = denied ? "upstream_denied" : "redirected";
    failure.status = 502;
    failure.param.clear();
    failure.raw.clear();
  }
  replace_all(failure.raw, origin, name);
  return failure;
}

}  // namespace windrow::upstream
