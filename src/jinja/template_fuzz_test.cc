// Mutated templates and made-up ones: whatever comes, parsing and rendering end, with a text or an
// error. WINDROW_FUZZ_SECONDS sets how long it runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "jinja/testing/render.h"

namespace windrow::jinja {
namespace {

const std::vector<std::string> kTemplates = {
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m['content']|trim }}{% endfor %}",
    "{%- macro f(a, b=[1, 2]) -%}{{ a ~ b|join(', ') }}{% if a %}{{ f(none) }}{% endif %}"
    "{%- endmacro -%}{{ f(messages[0].content, *[1], **{'z': 2}) }}{{ caller() }}",
    "{% set ns = namespace(x=0) %}{% for i in range(9) if i is odd %}{% set ns.x = ns.x + i %}"
    "{{ loop.index0 }}{{ loop.nextitem }}{% else %}-{% endfor %}{{ ns.x }}",
    "{{ messages|map(attribute='content')|select('string')|list|tojson(indent=2) }}",
    "{% set t %}a{{ s }}b{% endset %}{{ t[::-1].split('a', 1)|sort(reverse=true) }}"
    "{{ '%s-%5.2f-%x' % (s, 1.5, 255) }}{{ '{:>8}|{x!r}'.format(s, x=t) }}",
    "{% call(x) f() %}{{ x }}{% endcall %}{% filter upper %}é{{ s }}{% endfilter %}"
    "{# c #}{% raw %}{{ }}{% endraw %}{%- with a = 1 -%}{{ a }}{%- endwith +%}",
    "{{ messages|groupby('role')|batch(2, 'x')|list }}{{ s|replace('l', '')|indent(2) }}"
    "{% for k, v in d.items() %}{{ k }}{{ v|default('q', true) }}{% endfor %}",
    "{% for x in [[1, [2]], 3] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
};

const std::vector<std::string> kPieces = {
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "+",
    "|",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    ":",
    "'",
    "\"",
    "\\",
    "\n",
    " if ",
    " else ",
    " for x in ",
    "endfor",
    "endif",
    "set ",
    "macro ",
    "loop",
    "ns.x",
    "**",
    "//",
    "~",
    "==",
    " in ",
    " is ",
    " not ",
    "none",
    "9999999999999999999",
    "0x",
    "1e999",
    "1.5",
    "range(99999)",
    "'x' * 99999",
    "|list",
    "|tojson",
    "|sort",
    "|map('upper')",
    "|join",
    ".format(",
    "%",
    "é",
    "🙂",
    "\xFF",
    "messages",
    "s",
    "d",
    "[::-1]",
    "caller()",
    "loop(",
    "namespace(",
    "joiner()",
    "cycler(1, 2).next()",
    "|attr('x')",
    "{% break %}",
    "\r\n",
    "\t",
};

class Deadline {
 public:
  explicit Deadline(uint64_t count) : count_(count) {
    if (const char* text = std::getenv("WINDROW_FUZZ_SECONDS")) {
      until_ = clock_.now() + std::chrono::seconds(std::atoi(text));
      count_ = 0;
    }
  }
  bool another(uint64_t round) const { return count_ > 0 ? round < count_ : clock_.now() < until_; }

 private:
  SystemClock clock_;
  TimePoint until_;
  uint64_t count_;
};

std::string mutated(Random& random) {
  std::string text = kTemplates[random.below(kTemplates.size())];
  if (random.chance(0.3)) text += kTemplates[random.below(kTemplates.size())];
  for (int64_t i = random.between(1, 6); i > 0 && !text.empty(); --i) {
    const size_t at = random.below(text.size() + 1);
    switch (random.below(5)) {
      case 0:
        text.insert(at, 1, static_cast<char>(random.below(256)));
        break;
      case 1:
        text.erase(at, random.below(9));
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        break;
      default:
        text.insert(at, kPieces[random.below(kPieces.size())]);
    }
  }
  return text;
}

std::string made_up(Random& random) {
  std::string text = "{{ ";
  for (int64_t i = random.between(1, 20); i > 0; --i)
    text += kPieces[random.below(kPieces.size())];
  return text + " }}";
}

TEST(TemplateFuzz, EndsWithATextOrAnError) {
  const boost::json::object variables =
      boost::json::parse(R"({"messages": [{"role": "user", "content": "Hi é"},
                             {"role": "assistant", "content": null}, {"role": "user"}],
                             "s": "hello", "d": {"a": 1, "b": [true, 2.5]}})")
          .as_object();
  RenderOptions options;
  options.now = CivilTime{};
  options.limits = {.output_bytes_max = 200'000, .operations_max = 300'000, .depth_max = 60};
  const Deadline deadline(15'000);
  for (uint64_t seed = 0; deadline.another(seed); ++seed) {
    Random random(seed);
    const std::string source = random.chance(0.8) ? mutated(random) : made_up(random);
    const auto parsed = Template::parse(source);
    if (!parsed) {
      ASSERT_FALSE(parsed.error().message.empty()) << "seed " << seed;
      continue;
    }
    const auto result = parsed->render(variables, options);
    if (!result) {
      // A template may raise an empty message; no other error is silent.
      if (result.error().kind != ErrorKind::kInvalid) {
        ASSERT_NE(result.error().message.find("line "), std::string::npos) << "seed " << seed;
      }
      continue;
    }
    const std::string text = result->text();
    ASSERT_EQ(utf8_repair(text), text) << "seed " << seed;
    for (size_t i = 0; i < result->segments.size(); ++i) {
      ASSERT_FALSE(result->segments[i].text.empty()) << "seed " << seed;
      if (i > 0) {
        ASSERT_NE(result->segments[i].from_input, result->segments[i - 1].from_input)
            << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace windrow::jinja
