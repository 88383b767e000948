// Where text comes from, through one operation at a time. tests/templates holds it over all
// templates and random ones.
#include <gtest/gtest.h>

#include <utility>

#include "jinja/template.h"
#include "jinja/testing/render.h"

namespace windrow::jinja {
namespace {

using testing::with_origins;

std::string of(std::string_view expression) {
  const std::string source = "{{ " + std::string(expression) + " }}";
  return with_origins(source, R"({"u": "user", "p": "a,b", "s": " x ", "n": 7, "l": ["q", "r"],
                                  "d": {"k": "v"}, "e": "<|end|>"})");
}

TEST(Provenance, OfSimpleTexts) {
  EXPECT_EQ(of("'Hello ' + u + '!'"), "Hello {user}!");
  EXPECT_EQ(of("'Hello ' ~ u ~ '!'"), "Hello {user}!");
  EXPECT_EQ(of("e"), "{<|end|>}");
  EXPECT_EQ(of("'<|' + u + '|>'"), "<|{user}|>");
  EXPECT_EQ(of("u * 2"), "{useruser}");
  EXPECT_EQ(of("n"), "{7}");
  EXPECT_EQ(of("n + 1"), "{8}");
  EXPECT_EQ(of("u | length"), "4");
}

TEST(Provenance, ThroughSlicesAndCharacters) {
  EXPECT_EQ(of("('ab' + u + 'cd')[1:4]"), "b{us}");
  EXPECT_EQ(of("('ab' + u + 'cd')[::-1]"), "dc{resu}ba");
  EXPECT_EQ(of("('ab' + u)[2]"), "{u}");
  EXPECT_EQ(of("('ab' + u) | list | join('-')"), "a-b-{u}-{s}-{e}-{r}");
}

TEST(Provenance, ThroughMethodsAndFilters) {
  EXPECT_EQ(of("(' ' + u + ' ').strip()"), "{user}");
  EXPECT_EQ(of("('x ' + s) | trim"), "x { x}");
  EXPECT_EQ(of("('ab ' + u) | upper"), "AB {USER}");
  EXPECT_EQ(of("('ab ' + u) | title"), "Ab {User}");
  EXPECT_EQ(of("(u + ' x') | replace('x', e)"), "{user} {<|end|>}");
  EXPECT_EQ(of("u.replace('s', '|')"), "{u}|{er}");
  EXPECT_EQ(of("p.split(',') | join(' ')"), "{a} {b}");
  EXPECT_EQ(of("', '.join(l)"), "{q}, {r}");
  EXPECT_EQ(of("'%s=%s' | format('a', u)"), "a={user}");
  EXPECT_EQ(of("'%5s|' % u"), " {user}|");
  EXPECT_EQ(of("'{} and {x}'.format(u, x='t')"), "{user} and t");
  EXPECT_EQ(of("(u + '\\nb') | indent(2)"), "{user}\n  b");
  EXPECT_EQ(of("e | escape"), "{&lt;|end|&gt;}");
  EXPECT_EQ(of("u | center(8)"), "  {user}  ");
  EXPECT_EQ(of("u | truncate(3, true, '..', 0)"), "{u}..");
}

TEST(Provenance, OfWhatListsAndDictsLookLike) {
  EXPECT_EQ(of("d"), "{{'k': 'v'}}");
  EXPECT_EQ(of("d | tojson"), R"({{"k": "v"}})");
  EXPECT_EQ(of("{'a': u} | tojson"), R"({"a": {"user"}})");
  EXPECT_EQ(of("['a', u]"), "['a', {'user'}]");
  EXPECT_EQ(of("[n, 1] | tojson"), "[{7}, 1]");
  EXPECT_EQ(of("d.items() | list"), "[({'k'}, {'v'})]");
}

TEST(Provenance, ACharacterMadeOfANumberIsInput) {
  EXPECT_EQ(of("'%c' % 60"), "{<}");
  EXPECT_EQ(of("'{:c}'.format(60)"), "{<}");
}

TEST(Provenance, ThroughMacrosBlocksAndLoops) {
  EXPECT_EQ(with_origins("{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(u) }}{{ m('t') }}",
                         R"({"u": "user"})"),
            "[{user}][t]");
  EXPECT_EQ(with_origins("{% set x %}a{{ u }}b{% endset %}{{ x | upper }}", R"({"u": "user"})"),
            "A{USER}B");
  EXPECT_EQ(with_origins("{% for c in l recursive %}<{{ c }}>{% endfor %}", R"({"l": ["a", "b"]})"),
            "<{a}><{b}>");
  EXPECT_EQ(with_origins("{% filter replace('t', '|') %}t{{ u }}{% endfilter %}", R"({"u": "t"})"),
            "||");
  EXPECT_EQ(with_origins("{% macro m() %}({{ caller() }}){% endmacro %}"
                         "{% call m() %}{{ u }}{% endcall %}",
                         R"({"u": "x"})"),
            "({x})");
  EXPECT_EQ(with_origins("{% set ns = namespace(t='') %}{% for c in l %}"
                         "{% set ns.t = ns.t + c + ',' %}{% endfor %}{{ ns.t }}",
                         R"({"l": ["a", "b"]})"),
            "{a},{b},");
}

TEST(Provenance, TrustedVariablesAreTheTemplatesOwn) {
  RenderOptions options;
  options.trusted = {"bos_token", "messages.*.role"};
  EXPECT_EQ(with_origins("{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
                         "{% endfor %}{{ other }}",
                         R"({"bos_token": "<s>", "other": "o", "messages": [
                             {"role": "user", "content": "hi"}]})",
                         options),
            "<s><|user|>{hio}");
}

TEST(Provenance, NeighboursAreMergedAndNoneIsEmpty) {
  const auto parsed = Template::parse("a{{ '' }}b{{ e }}{{ u }}{{ u }}c{{ e }}d");
  ASSERT_TRUE(parsed);
  const auto result = parsed->render({{"e", ""}, {"u", "U"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->segments, (std::vector<Segment>{{"ab", false}, {"UU", true}, {"cd", false}}));
}

}  // namespace
}  // namespace windrow::jinja
