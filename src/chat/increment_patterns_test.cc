// Increments of patterns are those of increment_of(), for all templates of tests/templates/corpus
// and many texts.
#include "chat/increment_patterns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace windrow::chat {
namespace {

namespace json = boost::json;

constexpr int64_t kNow = 1'783'260'189;  // 5 July 2026
constexpr std::string_view kEnds = "<|im_end|>";

using Made = std::variant<Increment, Unwritable>;

struct Asked {
  std::string role = "user";
  std::string text;
  std::string end = std::string(kEnds);
  bool has_system = false;
  json::object arguments = {};
};

class Both {
 public:
  explicit Both(std::string_view source)
      : template_(ChatTemplate::make(source, {.begin = "<s>", .end = "</s>"}).value()),
        patterns_(template_, kNow) {}

  Made with_patterns(const Asked& asked) const {
    return in(asked, [&](const SampledTurn& turn, const Conversation& appended) {
      return patterns_.increment_of(turn, appended);
    });
  }
  Made rendered(const Asked& asked) const {
    return in(asked, [&](const SampledTurn& turn, const Conversation& appended) {
      return increment_of(template_, turn, appended, kNow);
    });
  }
  bool is_from_pattern(const Asked& asked) const {
    const int64_t before = patterns_.from_patterns();
    (void)with_patterns(asked);
    return patterns_.from_patterns() > before;
  }

  const ChatTemplate& made() const { return template_; }
  const IncrementPatterns& patterns() const { return patterns_; }

 private:
  template <class Make>
  static Made in(const Asked& asked, const Make& make) {
    const json::object answer = {{"role", "assistant"}, {"content", "an answer"}};
    const json::array messages = {json::object{{"role", asked.role}, {"content", asked.text}}};
    const json::array no_tools;
    return make({.message = answer, .end_token = asked.end, .has_system = asked.has_system},
                {.messages = messages, .tools = no_tools, .arguments = asked.arguments});
  }

  ChatTemplate template_;
  IncrementPatterns patterns_;
};

std::vector<std::string> texts() {
  return {"",
          " ",
          "\n",
          "And what is next?",
          " led by a space",
          "a line\n",
          "\n\n two\n lines \n",
          "user",
          "System: be brief",
          "User",
          "x",
          "None",
          "0",
          "true",
          "[]",
          "{\"a\": [1, \"b\"]}",
          "int main() { return a[0] < b && c > d ? '/' : \"|\"; }",
          "<|im_end|>\n<|im_start|>assistant\n",
          "<think>\nhm\n</think>\n\nyes",
          "thus </think> so",
          "<tool_response>\n1\n</tool_response>",
          "</s>[INST] [/INST]",
          "/no_think please",
          "please /THINK",
          "detailed thinking on",
          "qx0question zq0qz qx0answer Qx7Word",
          "\u4f60\u597d\u3002",
          "\u3000wide\u3000",
          "no\u00a0break\u00a0",
          "\u00e9\u0301 \U0001f600 \ufeff",
          std::string("a\0b", 3),
          "bad \xff\xc3 bytes",
          "tab\tand\r\nreturn",
          std::string(5000, 'w')};
}

void expect_same(const Both& both, const Asked& asked) {
  const Made with = both.with_patterns(asked);
  ASSERT_TRUE(with == both.rendered(asked))
      << asked.role << ", " << asked.has_system << ", '" << asked.end << "': " << asked.text;
}

// What the template names, alone and in texts, in other case and joined: where a template could see
// something in a text, if anywhere.
std::vector<std::string> texts_of(const ChatTemplate& made, Random& random) {
  std::vector<std::string> all;
  const std::vector<std::string> named = made.texts();
  if (named.empty()) return all;
  const auto any = [&] { return named[random.below(named.size())]; };
  for (int i = 0; i < 4; ++i) {
    std::string capitals = any();
    for (char& c : capitals)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    std::ranges::copy(std::vector{any(), any() + " x", "x " + any(), "x " + any() + " y",
                                  any() + any(), "x" + capitals + "y"},
                      std::back_inserter(all));
  }
  return all;
}

TEST(IncrementPatterns, AreAsRenderedForAllTemplatesAndTexts) {
  const std::filesystem::path corpus =
      std::filesystem::path(WINDROW_SOURCE_DIR) / "tests/templates/corpus";
  Random random(1);
  int64_t from_patterns = 0;
  int64_t all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    if (entry.path().extension() != ".jinja") continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const Both both(source);
    for (const std::string& text : texts()) {
      const bool odd = random.chance(0.5);
      expect_same(both, {.text = text, .end = odd ? "" : std::string(kEnds), .has_system = odd});
      ++all;
    }
    for (const std::string& text : texts_of(both.made(), random)) {
      expect_same(both, {.text = text});
      ++all;
    }
    expect_same(both, {.role = "system", .text = "Now in French."});
    expect_same(both, {.role = "visitor", .text = "Now in French."});
    from_patterns += both.patterns().from_patterns();
  }
  EXPECT_GT(all, 54 * 30);
  EXPECT_GT(from_patterns, all / 4) << "of " << all;
  RecordProperty("from_patterns", std::to_string(from_patterns));
}

TEST(IncrementPatterns, TextsThatATemplateWritesAsTheyAreAreNotRendered) {
  const Both both("chatml");
  EXPECT_TRUE(both.is_from_pattern({.text = "And what is next?"}));
  EXPECT_TRUE(
      both.is_from_pattern({.text = "in French\n\nplease, user <b> [1] \u4f60\u597d\u3002"}));
  EXPECT_TRUE(both.is_from_pattern({.text = "x", .end = ""}));
  EXPECT_TRUE(both.is_from_pattern({.role = "system", .text = "x", .has_system = true}));
  EXPECT_FALSE(both.is_from_pattern({.text = "x\n"}));
  EXPECT_FALSE(both.is_from_pattern({.text = "say <|IM_END|>"}));
  EXPECT_FALSE(both.is_from_pattern({.text = ""}));
}

// Each of these changes one kind of text, and the patterns see it.
TEST(IncrementPatterns, ChangesOfATextAreSeen) {
  const std::string begin =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{% set c = m.content %}";
  const std::string end =
      "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>{% endif %}";
  const std::vector<std::string> written = {
      "{{ c | upper }}",
      "{{ c | tojson }}",
      "{{ c | replace('yes', 'no') }}",
      "{{ c | replace('\\r\\n', '\\n') }}",
      "{{ c.split('</think>')[-1] }}",
      "{{ c }}{% if '/think' in c %}T{% elif '/no_think' in c %}N{% endif %}",
      "{{ c }}{% if c.startswith('Note') %}!{% endif %}",
      "{{ c }}{% if c.endswith('?') %}!{% endif %}",
      "{{ c }}{% if c | lower == 'stop' %}!{% endif %}",
      "{{ c }}{% if c in ['a', 'b'] %}!{% endif %}",
      "{{ c }}{% if '<' ~ 'x>' in c %}!{% endif %}",
      "{{ c[:100] }}",
      "{{ c }}{{ c }}",
      "{{ c | trim }}",
      "{{ c }}{{ c | length }}"};
  const std::vector<std::string> texts = {"plain",         "yes",        "a yes or no",
                                          "a\r\nb",        "</think> b", "say /think",
                                          "say /no_think", "Note this",  "why?",
                                          "Stop",          "STOP",       "b",
                                          "say <x>",       " x ",        std::string(300, 'z')};
  for (const std::string& one : written) {
    SCOPED_TRACE(one);
    const Both both(begin + one + end);
    for (const std::string& text : texts)
      expect_same(both, {.text = text});
  }
}

TEST(IncrementPatterns, EachKindHasItsOwn) {
  const Both both(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|im_end|>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% if not enable_thinking %}no{% endif %}"
      "{{ 's' if messages[0].role == 'system' }}{% endif %}");
  for (int round = 0; round < 2; ++round) {
    for (const char* role : {"user", "system"}) {
      for (const char* end : {"", "<|im_end|>", "<|other|>"}) {
        for (const bool system : {false, true}) {
          for (const bool thinks : {false, true}) {
            expect_same(both, {.role = role,
                               .text = "What is next?",
                               .end = end,
                               .has_system = system,
                               .arguments = {{"enable_thinking", thinks}}});
          }
        }
      }
    }
  }
  EXPECT_EQ(both.patterns().from_patterns(), 48);
}

TEST(IncrementPatterns, KindsBeyondTheirNumberAreRendered) {
  const Both both("chatml");
  for (int i = 0; i < 80; ++i)
    expect_same(both, {.text = "x", .end = fmt::format("<{}>", i)});
  EXPECT_FALSE(both.is_from_pattern({.text = "x", .end = "<79>"}));
  EXPECT_TRUE(both.is_from_pattern({.text = "x", .end = "<0>"}));
}

TEST(IncrementPatterns, ThreadsShareThem) {
  const Both both("chatml");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&both, t] {
      for (int i = 0; i < 50; ++i)
        expect_same(both, {.text = fmt::format("x{}", i), .has_system = (i + t) % 2 == 0});
    });
  }
  threads.clear();
  EXPECT_EQ(both.patterns().from_patterns(), 200);
}

}  // namespace
}  // namespace windrow::chat
