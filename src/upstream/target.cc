#include "upstream/target.h"

#include <utility>

#include "llm/request_json.h"

namespace windrow::upstream {
namespace {

constexpr std::string_view kVersion = "/v1";

}  // namespace

http::Url with_version(http::Url base) {
  if (base.target.empty() || base.target == "/") base.target = kVersion;
  return base;
}

http::Url target_of(const http::Url& base, llm::Endpoint endpoint) {
  return http::below(base, llm::url_of(endpoint).substr(kVersion.size()));
}

http::Url at_root(const http::Url& base, std::string_view path) {
  http::Url url = base;
  url.target = path;
  return url;
}

http::Url beside_version(const http::Url& base, std::string_view path) {
  std::string_view above = base.target;
  above = above.substr(0, above.find('?'));
  while (above.ends_with('/'))
    above.remove_suffix(1);
  http::Url url = base;
  url.target = above.ends_with(kVersion) ? above.substr(0, above.size() - kVersion.size()) : "";
  url.target += path;
  return url;
}

}  // namespace windrow::upstream
