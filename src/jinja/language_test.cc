// The language where it is easy to get wrong, with what Jinja2 gives. The comparison with Jinja2
// itself is tests/templates.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jinja/testing/render.h"

namespace windrow::jinja {
namespace {

using testing::rendered;

struct Example {
  std::string source;
  std::string expected;
};

void check(const std::vector<Example>& examples) {
  constexpr std::string_view kVariables =
      R"({"l": [1, 2, 3], "d": {"a": 1, "items": 2}, "s": "héllo", "m": {"content": null}})";
  for (const Example& example : examples) {
    EXPECT_EQ(rendered(example.source, kVariables), example.expected) << example.source;
  }
}

TEST(Language, WhiteSpaceAroundTags) {
  check({
      {"a\n  {% if true %}\nb\n  {% endif %}\nc", "a\nb\nc"},
      {"a\n  {%+ if true %}\nb{% endif +%}\nc", "a\n  b\nc"},
      {"a \n {%- if true -%} \n b {%- endif -%} \n c", "abc"},
      {"a {{- 1 -}} b", "a1b"},
      {"{# c #}\nx\n", "x"},
      {"x {#- c -#} y", "xy"},
      {"x\n\n", "x\n"},
      {"  {{ 1 }}\n{% raw %} {{ x }} {% endraw %}\ny", "  1\n {{ x }} y"},
  });
}

TEST(Language, Precedence) {
  check({
      {"{{ 1 + 2 ~ 3 }}",
       "render: line 1, column 6: '+' is not possible between 'int' and 'str', in "
       "\"{{ 1 + 2 ~ 3 }}\""},
      {"{{ 2 ** 3 ** 2 }}", "64"},
      {"{{ -2 ** 2 }}", "4"},
      {"{{ -3|abs }}", "3"},
      {"{{ not 1 == 2 }}", "True"},
      {"{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}", "TrueFalse"},
      {"{{ 1 if 0 else 2 if 1 else 3 }}", "2"},
      {"{{ 'a' if false }}", ""},
      {"{{ 7 // -2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** -1 }}", "-4 2 3.5 0.5"},
  });
}

TEST(Language, ScopesOfLoopsBlocksAndMacros) {
  check({
      {"{% set x = 1 %}{% for i in l %}{{ x }}{% set x = i + 5 %}{% endfor %}{{ x }}", "1111"},
      {"{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "2"},
      {"{% with x = 1, y = x %}[{{ x }}{{ y }}]{% endwith %}[{{ x }}]", "[1][]"},
      {"{% macro m(a, b='x') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}"
       "{{ m(1, 2, 3, z=4) }}",
       "12(3,){'z': 4}"},
      {"{% for i in l %}{% break %}{% else %}none{% endfor %}", "none"},
      {"{% for i in l %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "13"},
      {"{% for i in l if i != 2 %}{{ loop.index }}/{{ loop.length }} {% endfor %}", "1/2 2/2 "},
      {"{% generation %}{% set x = 5 %}{{ x }}{% endgeneration %}{{ x }}", "5"},
  });
}

TEST(Language, WhatTheSandboxHides) {
  check({
      {"{{ l.append }}|{{ d.update }}|{{ l.__class__ }}", "||"},
      {"{{ d.items }}", "<built-in method items of dict object>"},
      {"{{ d['items'] }}{{ d.a }}{{ d.b }}", "21"},
  });
  EXPECT_NE(rendered("{{ [].append(1) }}").find("may not be used"), std::string::npos);
}

TEST(Language, CharactersNotBytes) {
  check({
      {"{{ s|length }} {{ s[1] }} {{ s[-1:] }} {{ s[::-1] }} {{ s.find('l') }}", "5 é o olléh 2"},
      {"{{ s|upper }} {{ 'ß'|upper }} {{ 'ΑΣ'|lower }}", "HÉLLO SS ας"},
      {"{{ '\\u00e9\\x41\\n' }}", "éA\n"},
  });
}

TEST(Language, WhatPythonPrints) {
  check({
      {"{{ [1.0, 1e16, 1e-5, 0.1, true, none, 'a\"b', \"it's\"] }}",
       R"([1.0, 1e+16, 1e-05, 0.1, True, None, 'a"b', "it's"])"},
      {"{{ {'a': (1,), 2: {}} }}", "{'a': (1,), 2: {}}"},
      {"{{ {'a': 1.5, 'b': [none, true], 'é': '<&>'}|tojson }}",
       R"({"a": 1.5, "b": [null, true], "é": "<&>"})"},
      {"{{ m.content }} {{ m.nothing }}", "None "},
  });
}

}  // namespace
}  // namespace windrow::jinja
