// Routes: which handler answers a method and a path. Pure.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace windrow::http {

// "/v1/models" is one path; in "/v1/batches/{id}/cancel" a name in braces matches one part of any
// text, and as the last part of a path "{name...}" matches all that follows, slashes and nothing
// included. A path without braces goes first, one with a last part of any length last; among those
// of a kind the order of adding counts. HEAD is answered by the handler of GET.
template <class Handler>
class Routes {
 public:
  void add(std::string_view method, std::string_view path, Handler handler) {
    Route route{.method = std::string(method), .handler = std::move(handler)};
    if (path.find('{') == std::string_view::npos) {
      plain_[std::string(path)].push_back(std::move(route));
    } else {
      auto& patterns = path.ends_with(kRest) ? rest_patterns_ : patterns_;
      patterns.emplace_back(std::string(path), std::move(route));
    }
  }

  struct Found {
    const Handler* handler = nullptr;     // nullptr: there is none
    std::string allowed;                  // if only the method is wrong: the methods there are
    std::vector<std::string_view> parts;  // of `path`: the values of the braces, in their order
  };

  Found find(std::string_view method, std::string_view path) const {
    Found found;
    if (const auto routes = plain_.find(path); routes != plain_.end()) {
      for (const Route& route : routes->second) {
        if (take(route, method, found)) return found;
      }
    }
    for (const auto* patterns : {&patterns_, &rest_patterns_}) {
      for (const auto& [pattern, route] : *patterns) {
        std::vector<std::string_view> parts;
        if (!matches(pattern, path, parts) || !take(route, method, found)) continue;
        found.parts = std::move(parts);
        return found;
      }
    }
    return found;
  }

  // The path that a client probably means by `path`, which has no route: without its last slashes,
  // or with the first parts that a base URL lacks ("/chat/completions" for "/v1/chat/completions").
  // Empty: none. Valid as long as the routes.
  std::string_view similar(std::string_view path) const {
    while (path.size() > 1 && path.ends_with('/'))
      path.remove_suffix(1);
    if (path.size() <= 1 || !path.starts_with('/')) return {};
    std::string_view shortest;
    for (const auto& [known, routes] : plain_) {
      if (!known.ends_with(path)) continue;
      if (shortest.empty() || known.size() < shortest.size() ||
          (known.size() == shortest.size() && known < shortest))
        shortest = known;
    }
    return shortest;
  }

 private:
  static constexpr std::string_view kRest = "...}";

  struct Route {
    std::string method;
    Handler handler;
  };

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  static bool take(const Route& route, std::string_view method, Found& found) {
    if (route.method == method || (route.method == "GET" && method == "HEAD")) {
      found.handler = &route.handler;
      found.allowed.clear();
      return true;
    }
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += route.method == "GET" ? "GET, HEAD" : route.method;
    return false;
  }

  // Whether a pattern goes on with its last part, one of any length.
  static bool takes_rest(std::string_view pattern) {
    return pattern.starts_with('{') && pattern.ends_with(kRest) &&
           pattern.find('}') + 1 == pattern.size();
  }

  static bool matches(std::string_view pattern, std::string_view path,
                      std::vector<std::string_view>& parts) {
    while (!pattern.empty() && !path.empty()) {
      if (pattern.front() != '{') {
        if (pattern.front() != path.front()) return false;
        pattern.remove_prefix(1);
        path.remove_prefix(1);
        continue;
      }
      if (takes_rest(pattern)) break;
      const size_t end = std::min(path.find('/'), path.size());
      if (end == 0) return false;
      parts.push_back(path.substr(0, end));
      path.remove_prefix(end);
      pattern.remove_prefix(pattern.find('}') + 1);
    }
    if (!takes_rest(pattern)) return pattern.empty() && path.empty();
    parts.push_back(path);
    return true;
  }

  boost::unordered_flat_map<std::string, std::vector<Route>, Hash, std::equal_to<>> plain_;
  std::vector<std::pair<std::string, Route>> patterns_;
  std::vector<std::pair<std::string, Route>> rest_patterns_;  // with a last part of any length
};

}  // namespace windrow::http
