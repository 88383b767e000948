#include "model_store/redirect.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace windrow::model_store {
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
