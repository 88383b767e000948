#include "jinja/template.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "jinja/testing/render.h"

namespace windrow::jinja {
namespace {

using testing::rendered;

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr std::string_view kHi =
    R"({"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true})";

TEST(Template, RendersChatMl) {
  EXPECT_EQ(rendered(kChatMl, kHi), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Template, RendersInManyThreadsAtATime) {
  const auto parsed = Template::parse(kChatMl);
  ASSERT_TRUE(parsed);
  const boost::json::object variables = boost::json::parse(kHi).as_object();
  const std::string expected = rendered(kChatMl, kHi);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto result = parsed->render(variables);
        count += result && result->text() == expected ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Template, KnowsWhatItMentions) {
  const auto parsed =
      Template::parse("text {% if tools %}{{ m.thinking }}{{ m['key'] }}{% endif %}");
  ASSERT_TRUE(parsed);
  for (const std::string_view name : {"tools", "thinking", "key"})
    EXPECT_TRUE(parsed->mentions(name));
  for (const std::string_view name : {"text", "too", "enable_thinking"}) {
    EXPECT_FALSE(parsed->mentions(name));
  }
}

TEST(Template, KeepsItsSourceWithPlainLineEnds) {
  const auto parsed = Template::parse("a\r\nb\rc\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->source(), "a\nb\nc");
}

TEST(Errors, OfSyntaxNameLineColumnAndCause) {
  EXPECT_EQ(rendered("a\n{% if x %}b\n"),
            "parse: line 2, column 4: this 'if' has no end: expected 'elif' or 'else' or 'endif', "
            "in \"{% if x %}b\"");
  EXPECT_EQ(rendered("{{ 1 + }}"),
            "parse: line 1, column 8: unexpected '}}', expected an expression, in \"{{ 1 + }}\"");
  EXPECT_EQ(rendered("\n\n  {{ x|nope }}"),
            "parse: line 3, column 8: there is no filter 'nope', in \"{{ x|nope }}\"");
}

TEST(Errors, OfRenderingNameLineColumnAndCause) {
  EXPECT_EQ(rendered("a\n{{ m.content + 1 }}", R"({"m": {"content": "x"}})"),
            "render: line 2, column 14: '+' is not possible between 'str' and 'int', in "
            "\"{{ m.content + 1 }}\"");
  EXPECT_EQ(rendered("{{ a.b.c }}", R"({"a": {}})"),
            "render: line 1, column 7: 'dict' object has no attribute 'b', in \"{{ a.b.c }}\"");
  EXPECT_EQ(rendered("{{ absent.name }}"),
            "render: line 1, column 10: 'absent' is undefined, in \"{{ absent.name }}\"");
}

TEST(Errors, ShowWhatIsNearInALongLine) {
  const std::string source = std::string(500, 'x') + "{{ absent.name }}" + std::string(500, 'y');
  const std::string message = rendered(source);
  EXPECT_NE(message.find("column 510: 'absent' is undefined"), std::string::npos) << message;
  EXPECT_NE(message.find("{{ absent.name }}"), std::string::npos) << message;
  EXPECT_LT(message.size(), 200U);
}

TEST(Errors, ARefusalIsTheTemplatesOwnTextAndAnotherKind) {
  const auto parsed = Template::parse("{{ raise_exception('Roles must ' ~ what) }}");
  ASSERT_TRUE(parsed);
  const auto refused = parsed->render({{"what", "alternate"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{ErrorKind::kInvalid, "Roles must alternate"}));

  const auto failing = Template::parse("{{ 1 // 0 }}");
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->render({}).error().kind, ErrorKind::kUnavailable);
}

TEST(Errors, OfUndefinedValuesWhereTheyAreRefused) {
  const RenderOptions strict{.undefined_fails = true};
  for (const std::string source :
       {"{{ absent }}", "{{ a.b }}", "{{ 'x' if absent }}", "{% if absent %}{% endif %}",
        "{% for x in absent %}{% endfor %}", "{{ absent | upper }}", "{{ not absent }}",
        "{% if absent == 'x' %}{% endif %}", "{{ 'x' != a.b }}", "{{ absent in ['x'] }}",
        "{{ 'x' in absent }}", "{{ absent | length }}"}) {
    const std::string message = rendered(source, R"({"a": {}})", strict);
    EXPECT_TRUE(message.starts_with("render: line 1, column ")) << source << ": " << message;
  }
  EXPECT_EQ(rendered("{{ absent }}", "{}", strict),
            "render: line 1, column 1: 'absent' is undefined, in \"{{ absent }}\"");
  EXPECT_EQ(
      rendered("{{ absent | default('-') }}{{ absent is defined }}{{ a }}", R"({"a": ""})", strict),
      "-False");
  EXPECT_EQ(rendered("{{ absent }}{{ 'x' if absent }}"), "");
}

TEST(Errors, RefuseOtherTemplatesByName) {
  for (const std::string tag :
       {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'", "block x"}) {
    const std::string message = rendered("{% " + tag + " %}");
    EXPECT_NE(message.find("parse: "), std::string::npos);
    EXPECT_NE(message.find("'" + tag.substr(0, tag.find(' ')) + "' is not supported"),
              std::string::npos)
        << message;
  }
}

TEST(Errors, OfTextThatIsNotUtf8) {
  EXPECT_EQ(rendered("a\xFF"), "parse: the template is not UTF-8 text");
}

TEST(StrftimeNow, TellsTheTimeThatWasGiven) {
  RenderOptions options;
  options.now = {.year = 2024, .month = 7, .day = 6, .hour = 5, .minute = 4, .second = 3};
  EXPECT_EQ(
      rendered("{{ strftime_now('%d %b %Y|%Y-%m-%d|%-d %B|%A %H:%M:%S|%j|%p') }}", "{}", options),
      "06 Jul 2024|2024-07-06|6 July|Saturday 05:04:03|188|AM");
  EXPECT_NE(rendered("{{ strftime_now('%d') }}").find("no time was given"), std::string::npos);
}

TEST(CivilTime, IsOfTheProlepticCalendar) {
  const CivilTime time = utc_time(1'709'251'199);  // 2024-02-29 23:59:59
  EXPECT_EQ(time.year, 2024);
  EXPECT_EQ(time.month, 2);
  EXPECT_EQ(time.day, 29);
  EXPECT_EQ(time.second, 59);
}

TEST(Numbers, BeyondSixtyFourBitsAreAnError) {
  EXPECT_EQ(rendered("{{ 9223372036854775807 + 9223372036854775807 }}"), "18446744073709551614");
  EXPECT_EQ(rendered("{{ x }}", R"({"x": 18446744073709551615})"), "18446744073709551615");
  for (const std::string source : {"{{ 18446744073709551615 + 1 }}", "{{ 10 ** 30 }}",
                                   "{{ -9223372036854775807 - 2 }}", "{{ 2 ** 64 }}"}) {
    EXPECT_NE(rendered(source).find("more than 64 bits"), std::string::npos) << source;
  }
  EXPECT_NE(rendered("{{ 99999999999999999999 }}").find("parse: "), std::string::npos);
}

}  // namespace
}  // namespace windrow::jinja
