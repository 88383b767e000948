// Renders cases for the comparison with other engines: a JSON object a line in, one out.
//   in   {"template": text, "variables": {...}, "trusted": [...]?, "segments": true?}
//   out  {"text": ...} or {"segments": [[text, from_input], ...]}, else {"raised": message} when
//   the
//        template refused, {"failed": message} for all other failures
// The time is always the same, tests/templates/oracle.py says which.
#include <boost/json.hpp>
#include <iostream>
#include <string>
#include <unordered_map>

#include "jinja/template.h"

namespace {

using windrow::ErrorKind;
using windrow::Result;
using windrow::jinja::Rendered;
using windrow::jinja::RenderOptions;
using windrow::jinja::Template;
namespace json = boost::json;

json::object answer(const json::object& request, const Result<Template>& parsed) {
  if (!parsed) return {{"failed", parsed.error().message}};
  RenderOptions options;
  options.now = {.year = 2026, .month = 7, .day = 5, .hour = 14, .minute = 3, .second = 9};
  if (const auto* trusted = request.if_contains("trusted")) {
    for (const auto& name : trusted->as_array()) {
      options.trusted.emplace_back(std::string_view(name.as_string()));
    }
  }
  const Result<Rendered> rendered = parsed->render(request.at("variables").as_object(), options);
  if (!rendered) {
    const bool raised = rendered.error().kind == ErrorKind::kInvalid;
    return {{raised ? "raised" : "failed", rendered.error().message}};
  }
  if (!request.contains("segments")) return {{"text", rendered->text()}};
  json::array segments;
  for (const auto& segment : rendered->segments) {
    segments.push_back(json::array{segment.text, segment.from_input});
  }
  return {{"segments", std::move(segments)}};
}

}  // namespace

int main() try {
  std::ios::sync_with_stdio(false);
  std::unordered_map<std::string, Result<Template>> templates;
  for (std::string line; std::getline(std::cin, line);) {
    json::parse_options options;
    options.max_depth = 100;
    const json::object request = json::parse(line, {}, options).as_object();
    const std::string source(request.at("template").as_string());
    auto parsed = templates.find(source);
    if (parsed == templates.end())
      parsed = templates.emplace(source, Template::parse(source)).first;
    std::cout << json::serialize(answer(request, parsed->second)) << '\n';
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "render_cases: " << error.what() << '\n';
  return 1;
}
