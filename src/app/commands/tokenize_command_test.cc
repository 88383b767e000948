#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "fleet/load_tokenizer.h"
#include "llm/tokenizer.h"

namespace windrow::app {
namespace {

using ::testing::HasSubstr;

class TokenizeOutput : public ::testing::Test {
 protected:
  Result<std::string> output(const TokenizeCommand& command, std::string_view input) {
    return tokenize_output(command, *tokenizer_, input);
  }

  std::string refused(const TokenizeCommand& command, std::string_view input) {
    const Result<std::string> made = output(command, input);
    EXPECT_FALSE(made.has_value());
    return made ? "" : made.error().message;
  }

  const std::shared_ptr<const llm::Tokenizer> tokenizer_ =
      fleet::load_tokenizer(nullptr, {.path = "sim:"}, 1'700'000'000).value();
};

TEST_F(TokenizeOutput, IdsAreDecodedToTheText) {
  const std::string text = "Zoë said yes\n";
  const std::string ids = output({}, text).value();
  EXPECT_TRUE(ids.ends_with('\n'));
  EXPECT_EQ(output({.decode = true}, ids).value(), text);
  EXPECT_EQ(output({.decode = true}, "[104, 105]").value(), "hi");
  EXPECT_EQ(output({.decode = true}, "").value(), "");
}

TEST_F(TokenizeOutput, CountsAndListsPieces) {
  EXPECT_EQ(output({.count = true}, "xz").value(), "2\n");
  EXPECT_EQ(boost::json::parse(output({.json = true}, "é").value()),
            boost::json::parse(R"({"count":2,"tokens":[195,169],"pieces":[[195],[169]]})"));
}

TEST_F(TokenizeOutput, AChatIsAnArrayOfMessagesOrABody) {
  const std::string messages = R"([{"role":"user","content":"hi"}])";
  const std::string ids = output({.messages = true}, messages).value();
  EXPECT_EQ(output({.decode = true}, ids).value(),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(output({.messages = true}, R"({"model":"m","messages":)" + messages + "}").value(),
            ids);
}

TEST_F(TokenizeOutput, SaysWhatIsWrongWithTheInput) {
  EXPECT_THAT(refused({.decode = true}, "1 x"), HasSubstr("\"x\" is not a token id"));
  EXPECT_THAT(refused({.decode = true}, "99999999"), HasSubstr("they are 0 to"));
  EXPECT_THAT(refused({.messages = true}, "hi"), HasSubstr("the input is not JSON"));
  EXPECT_THAT(refused({.messages = true}, "[{}]"), HasSubstr("role"));
  EXPECT_THAT(refused({.messages = true}, "7"), HasSubstr("messages"));
}

}  // namespace
}  // namespace windrow::app
