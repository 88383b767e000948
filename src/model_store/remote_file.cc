#include "model_store/remote_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

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

namespace {

// RFC 3986, 5.2.4.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_with_slash = false;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    path.remove_prefix(end);
    ends_with_slash = name == "." || name == "..";
    if (name == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (name != ".") {
      kept.push_back(name);
    }
  }
  std::string result;
  for (const std::string_view name : kept)
    result += fmt::format("/{}", name);
  if (ends_with_slash || result.empty()) result += '/';
  return result;
}

}  // namespace

Result<http::Url> redirect_target(const http::Url& from, std::string_view location) {
  location = location.substr(0, location.find('#'));
  std::string whole(location);
  const size_t scheme = location.find("://");
  if (location.starts_with("//")) {
    whole = fmt::format("{}:{}", from.tls ? "https" : "http", location);
  } else if (scheme == std::string_view::npos || location.find_first_of("/?") < scheme) {
    const std::string_view path = location.substr(0, location.find('?'));
    const std::string_view query = location.substr(path.size());
    const std::string_view here = std::string_view(from.target).substr(0, from.target.find('?'));
    std::string target;
    if (path.starts_with('/')) {
      target = without_dots(path);
    } else if (path.empty()) {
      target = here;
    } else {
      target = without_dots(std::string(here.substr(0, here.rfind('/') + 1)) + std::string(path));
    }
    whole = http::origin(from) + target + std::string(query);
  }
  Result<http::Url> url = http::parse_url(whole);
  if (!url) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} sends on to what is no URL", http::origin(from))};
  }
  if (from.tls && !url->tls) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{} sends on to {}, without TLS; nobody could tell whose file that is",
                             http::origin(from), http::origin(*url))};
  }
  return url;
}

bool same_origin(const http::Url& a, const http::Url& b) {
  return a.tls == b.tls && a.host == b.host && a.port == b.port;
}

}  // namespace windrow::model_store
