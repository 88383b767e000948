#include "schema/uri_reference.h"

#include <charconv>

#include "schema/text_scanner.h"

namespace windrow::schema {
namespace {

struct Parts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
};

// RFC 3986, appendix B, without the fragment.
Parts split(std::string_view text) {
  Parts parts;
  text = text.substr(0, text.find('#'));
  const size_t colon = text.find_first_of(":/?");
  if (colon != std::string_view::npos && text[colon] == ':' && colon > 0) {
    parts.scheme = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    parts.authority = text.substr(0, text.find_first_of("/?"));
    text.remove_prefix(parts.authority->size());
  }
  const size_t mark = text.find('?');
  parts.path = text.substr(0, mark);
  if (mark != std::string_view::npos) parts.query = text.substr(mark + 1);
  return parts;
}

// RFC 3986, 5.2.4.
std::string without_dots(std::string_view in) {
  std::string out;
  const auto drop_last = [&] {
    const size_t slash = out.rfind('/');
    out.resize(slash == std::string::npos ? 0 : slash);
  };
  while (!in.empty()) {
    if (in.starts_with("../")) {
      in.remove_prefix(3);
    } else if (in.starts_with("./") || in.starts_with("/./")) {
      in.remove_prefix(2);
    } else if (in == "/.") {
      in = "/";
    } else if (in.starts_with("/../")) {
      in.remove_prefix(3);
      drop_last();
    } else if (in == "/..") {
      in = "/";
      drop_last();
    } else if (in == "." || in == "..") {
      in = {};
    } else {
      const size_t next = in.find('/', 1);
      out += in.substr(0, next);
      in.remove_prefix(next == std::string_view::npos ? in.size() : next);
    }
  }
  return out;
}

std::string merged(const Parts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return "/" + std::string(path);
  const size_t slash = base.path.rfind('/');
  if (slash == std::string_view::npos) return std::string(path);
  return std::string(base.path.substr(0, slash + 1)) + std::string(path);
}

}  // namespace

std::string resolve_uri(std::string_view base_text, std::string_view reference) {
  const Parts base = split(base_text);
  Parts result = split(reference);
  std::string path;
  if (result.scheme || result.authority) {
    path = without_dots(result.path);
  } else if (result.path.empty()) {
    path = base.path;
    if (!result.query) result.query = base.query;
  } else {
    path = without_dots(result.path.starts_with('/') ? std::string(result.path)
                                                     : merged(base, result.path));
  }
  if (!result.scheme) {
    if (!result.authority) result.authority = base.authority;
    result.scheme = base.scheme;
  }
  std::string text;
  if (result.scheme) (text += *result.scheme) += ':';
  if (result.authority) (text += "//") += *result.authority;
  text += path;
  if (result.query) (text += '?') += *result.query;
  return text;
}

std::string_view fragment_of(std::string_view reference) {
  const size_t mark = reference.find('#');
  return mark == std::string_view::npos ? std::string_view() : reference.substr(mark + 1);
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return std::nullopt;
    unsigned value = 0;
    std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

}  // namespace windrow::schema
