#include "model_store/remote_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace windrow::model_store {
namespace {

template <class Number>
bool read_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

std::optional<uint64_t> whole_number(std::optional<std::string_view> text) {
  uint64_t value = 0;
  if (!text || !read_number(*text, value) || !text->empty()) return std::nullopt;
  return value;
}

// A hash, quoted or not; empty for any other tag.
std::string hash_in(std::string_view tag) {
  if (tag.starts_with("W/")) tag.remove_prefix(2);
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"')
    tag = tag.substr(1, tag.size() - 2);
  std::string hash(tag);
  std::ranges::transform(hash, hash.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool good = hash.size() == 64 && std::ranges::all_of(hash, [](unsigned char c) {
                      return std::isxdigit(c) != 0;
                    });
  return good ? hash : "";
}

std::string page_of(const ModelSource& source, const http::Url& hub) {
  return fmt::format("{}/{}", http::origin(hub), source.repository);
}

std::string not_let_in(const ModelSource& source, const http::Url& hub, bool had_token) {
  if (!had_token) {
    return fmt::format(
        "; is the name right? {0} shows it. For a private repository, or one with "
        "conditions, set HF_TOKEN to a token that may read it",
        page_of(source, hub));
  }
  return fmt::format(
      "; may the account of HF_TOKEN read it? {} shows whether it has conditions to "
      "be accepted first",
      page_of(source, hub));
}

std::string not_found(const ModelSource& source, const http::Url& hub, std::string_view code) {
  if (!source.of_hub) return "; is the URL right?";
  if (code == "RevisionNotFound") return fmt::format("; it has no revision {}", source.revision);
  if (code == "RepoNotFound") return fmt::format("; there is no {}", page_of(source, hub));
  return fmt::format("; is the name right? {}/tree/{} lists the files", page_of(source, hub),
                     source.revision);
}

}  // namespace

void add_hub_facts(const http::Headers& headers, RemoteFile& file) {
  if (const auto bytes = whole_number(headers.get("x-linked-size"))) file.bytes = bytes;
  if (const auto tag = headers.get("x-linked-etag")) {
    if (std::string hash = hash_in(*tag); !hash.empty()) file.sha256 = std::move(hash);
  }
}

void add_file_facts(const http::Headers& headers, RemoteFile& file) {
  if (const auto bytes = whole_number(headers.get("content-length"))) file.bytes = bytes;
  const std::string_view etag = headers.get("etag").value_or("");
  // A weak one says that two files mean the same, not that their bytes agree (RFC 9110, 8.8.1).
  const bool strong = etag.size() > 2 && etag.front() == '"' && etag.back() == '"';
  file.etag = strong ? etag : "";
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  ContentRange range;
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  if (!read_number(text, range.first) || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  if (!read_number(text, range.last) || !text.starts_with('/') || range.last < range.first)
    return std::nullopt;
  text.remove_prefix(1);
  if (text == "*") return range;
  uint64_t total = 0;
  if (!read_number(text, total) || !text.empty() || total <= range.last) return std::nullopt;
  range.total = total;
  return range;
}

Error status_error(const ModelSource& source, const http::ReplyHead& head, const http::Url& from,
                   bool had_token) {
  std::string text =
      fmt::format("{}: {} answered {}", source.text, http::origin(from), head.status);
  const std::string_view code = head.headers.get("x-error-code").value_or("");
  ErrorKind kind = ErrorKind::kUnavailable;
  switch (head.status) {
    case 401:
    case 403:
      text += source.of_hub ? not_let_in(source, source.url, had_token)
                            : "; it lets nobody in without a key, and there is no way to give one: "
                              "download the file yourself and name that";
      break;
    case 404:
    case 410:
      kind = ErrorKind::kNotFound;
      text += not_found(source, source.url, code);
      break;
    case 429:
      text += source.of_hub && !had_token
                  ? "; it has too many requests from here: wait a while, or set HF_TOKEN"
                  : "; it has too many requests from here: wait a while";
      break;
    default:
      text += head.status >= 500 ? "; try again later, what is there so far is kept"
                                 : "; it does not give the file out";
  }
  return {kind, std::move(text)};
}

bool worth_another_try(int32_t status) {
  return status == 408 || status == 429 || status >= 500;
}

}  // namespace windrow::model_store
