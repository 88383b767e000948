// Templates that would run for ever, fill the memory or the stack.
#include <gtest/gtest.h>

#include "jinja/template.h"

namespace windrow::jinja {
namespace {

// The error's kind, or nothing when it renders.
std::optional<ErrorKind> kind_of(std::string_view source, Limits limits = {}) {
  const auto parsed = Template::parse(source);
  if (!parsed) return parsed.error().kind;
  RenderOptions options;
  options.limits = limits;
  const auto result = parsed->render({{"x", "some text"}}, options);
  return result ? std::nullopt : std::optional(result.error().kind);
}

std::string repeated(std::string_view text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

constexpr Limits kSmall = {.output_bytes_max = 100'000, .operations_max = 200'000, .depth_max = 50};

TEST(Limits, OfOperations) {
  for (const std::string_view source : {
           "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
           "{% for a in range(100000) %}{{ range(100000)|list|length }}{% endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for a in range(99) %}{% set ns.l = ns.l + ns.l %}"
           "{% endfor %}",
           "{{ [1] * 1000000000 }}",
           "{{ range(100000)|map('string')|list|length }}",
           "{{ (x * 5000).split('e') * 10000 }}",
           "{% set ns = namespace(l=[1]) %}{% for a in range(90) %}{% set ns.l = [ns.l, ns.l] %}"
           "{% endfor %}{{ ns.l == ns.l[0] }}",
       }) {
    EXPECT_EQ(kind_of(source, kSmall), ErrorKind::kNoSpace) << source;
  }
}

TEST(Limits, OfText) {
  for (const std::string_view source : {
           "{{ 'x' * 1000000000 }}",
           "{% for a in range(20000) %}0123456789{% endfor %}",
           "{% set ns = namespace(t='x') %}{% for a in range(60) %}{% set ns.t = ns.t ~ ns.t %}"
           "{% endfor %}",
           "{{ (x * 3000).replace('', x) }}",
           "{{ 'x'.center(1000000000) }}",
       }) {
    EXPECT_EQ(kind_of(source, kSmall), ErrorKind::kNoSpace) << source;
  }
}

TEST(Limits, OfWidths) {
  for (const std::string_view source :
       {"{{ '%999999999999d' % 1 }}", "{{ '{:9999999999}'.format(1) }}",
        "{{ '%.*f' % (999999, 1) }}", "{{ {'a': 1}|tojson(indent=100000000) }}"}) {
    EXPECT_TRUE(kind_of(source, kSmall)) << source;
  }
}

TEST(Limits, RangeIsTheSandboxs) {
  EXPECT_EQ(kind_of("{% for a in range(10**9) %}{% endfor %}"), ErrorKind::kUnavailable);
  EXPECT_EQ(kind_of("{% for a in range(100000) %}{% endfor %}"), std::nullopt);
}

TEST(Limits, OfDepth) {
  for (const std::string_view source : {
           "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
           "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
           "{% macro m() %}{{ caller }}{% call m() %}x{% endcall %}{% endmacro %}{{ m() }}",
           "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
           "{% set ns = namespace(l=[]) %}{% for a in range(500) %}{% set ns.l = [ns.l] %}"
           "{% endfor %}{{ ns.l }}",
           "{% set ns = namespace(l=x) %}{% for a in range(9999) %}"
           "{% set ns.l = ns.l|map('upper') %}{% endfor %}{{ ns.l|list }}",
           "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
       }) {
    EXPECT_EQ(kind_of(source), ErrorKind::kNoSpace) << source;
  }
}

TEST(Limits, LeaveRoomForLongExpressions) {
  EXPECT_EQ(kind_of("{{ 'a'" + repeated(" + x", 250) + " }}"), std::nullopt);
  EXPECT_EQ(kind_of("{{ x" + repeated("|trim", 250) + " }}"), std::nullopt);
  EXPECT_EQ(kind_of("{{ " + repeated("(", 60) + "x" + repeated(")", 60) + " }}"), std::nullopt);
}

TEST(Limits, SearchesThatWouldTakeForEverAreCounted) {
  const Limits limits = {.operations_max = 500'000};
  EXPECT_EQ(kind_of("{{ (('a' * 200000 + 'b') * 2).rfind('b' + 'a' * 100000) }}", limits),
            ErrorKind::kNoSpace);
  EXPECT_EQ(kind_of("{% for i in range(9) %}{{ ('a' * 100000 + 'b') in ('a' * 300000) }}"
                    "{% endfor %}",
                    {}),
            std::nullopt);
  EXPECT_EQ(kind_of("{{ '{:0999999,}'.format(1)|length }}", {}), std::nullopt);
  EXPECT_EQ(kind_of("{% set ns = namespace(t='') %}{% for i in range(9999) %}"
                    "{% set ns.t = ns.t ~ x ~ '-' %}{% endfor %}{{ ns.t|list|length }}",
                    {}),
            ErrorKind::kNoSpace);
}

TEST(Limits, NestedSourceIsRefused) {
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"(", ")"},
                                                        {"[", "]"},
                                                        {"-", ""},
                                                        {"not ", ""},
                                                        {"{1:", "}"},
                                                        {"x(", ")"},
                                                        {"x|d(", ")"}}) {
    const std::string source =
        "{{ " + repeated(open, 50'000) + "1" + repeated(close, 50'000) + " }}";
    EXPECT_TRUE(kind_of(source)) << open;
  }
  EXPECT_TRUE(kind_of("{{ 1" + repeated(" + 1", 50'000) + " }}"));
  EXPECT_TRUE(kind_of("{{ x" + repeated(".a", 50'000) + " }}"));
  EXPECT_TRUE(kind_of("{{ x" + repeated("|trim", 50'000) + " }}"));
  EXPECT_TRUE(kind_of("{{ 1" + repeated(" if 1 else 1", 50'000) + " }}"));
  EXPECT_TRUE(kind_of(repeated("{% if x %}", 50'000) + repeated("{% endif %}", 50'000)));
  EXPECT_TRUE(kind_of("{% set " + repeated("(", 50'000) + "a" + repeated(")", 50'000) + " = 1 %}"));
  EXPECT_FALSE(kind_of("{{ 1" + repeated(" ~ 1", 5'000) + " }}"));
}

TEST(Limits, LongChainsOfNamespacesGoAway) {
  EXPECT_EQ(kind_of("{% set ns = namespace(head=namespace()) %}{% set first = ns.head %}"
                    "{% for a in range(50000) %}{% set old = ns.head %}{% set new = namespace() %}"
                    "{% set old.next = new %}{% set ns.head = new %}{% endfor %}"),
            std::nullopt);
}

TEST(Limits, WhatOutlivesItsScopeIsSafe) {
  EXPECT_EQ(kind_of("{% set ns = namespace() %}{% macro m(l) %}{% for a in l if a %}"
                    "{% set ns.loop = loop %}{% set ns.next = loop.nextitem %}{% endfor %}"
                    "{% endmacro %}{{ m([1, 2]) }}{{ ns.loop.last }}{{ ns.loop.length }}"),
            std::nullopt);
  EXPECT_EQ(kind_of("{% set ns = namespace() %}{% macro m(l) %}{% for a in l recursive %}"
                    "{% set ns.loop = loop %}{% endfor %}{% endmacro %}{{ m([1, 2]) }}"
                    "{{ ns.loop([]) }}"),
            std::nullopt);
  EXPECT_EQ(kind_of("{% set ns = namespace() %}{% for a in [1, 2] %}{% set b = a %}"
                    "{% macro m() %}{{ a + b }}{% endmacro %}{% set ns.m = m %}{% endfor %}"
                    "{{ ns.m() }}"),
            std::nullopt);
}

TEST(Limits, OfTheInputsDepth) {
  boost::json::value deep = 1;
  for (int i = 0; i < 1000; ++i)
    deep = boost::json::array{std::move(deep)};
  const auto parsed = Template::parse("{{ x }}");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->render({{"x", deep}}).error().kind, ErrorKind::kNoSpace);
}

}  // namespace
}  // namespace windrow::jinja
