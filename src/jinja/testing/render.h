// Short ways to render in tests.
#pragma once

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>

#include "jinja/template.h"

namespace windrow::jinja::testing {

// The text, or "parse: ..." or "render: ..." with the error's message.
inline std::string rendered(std::string_view source, std::string_view variables = "{}",
                            const RenderOptions& options = {}) {
  const auto parsed = Template::parse(source);
  if (!parsed) return "parse: " + parsed.error().message;
  const auto result = parsed->render(boost::json::parse(variables).as_object(), options);
  return result ? result->text() : "render: " + result.error().message;
}

// The text with what comes from the input in braces: "Hello {you}".
inline std::string with_origins(std::string_view source, std::string_view variables,
                                const RenderOptions& options = {}) {
  const auto parsed = Template::parse(source);
  if (!parsed) return "parse: " + parsed.error().message;
  const auto result = parsed->render(boost::json::parse(variables).as_object(), options);
  if (!result) return "render: " + result.error().message;
  std::string text;
  for (const Segment& segment : result->segments) {
    text += segment.from_input ? "{" + segment.text + "}" : segment.text;
  }
  return text;
}

}  // namespace windrow::jinja::testing
