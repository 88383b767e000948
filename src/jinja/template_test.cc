#include "jinja/template.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::jinja {
namespace {

std::string rendered(std::string_view source, std::string_view variables = "{}") {
  const auto parsed = Template::parse(source);
  if (!parsed) return "parse: " + parsed.error().message;
  const auto result = parsed->render(boost::json::parse(variables).as_object());
  return result ? result->text() : "render: " + result.error().message;
}

TEST(Template, RendersChatMl) {
  constexpr std::string_view kChatMl =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
      "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
  EXPECT_EQ(rendered(kChatMl, R"({"messages": [{"role": "user", "content": "Hi"}],
                                  "add_generation_prompt": true})"),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace windrow::jinja
