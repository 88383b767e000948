#include "fleet/tokenizer_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/load_tokenizer.h"

namespace windrow::fleet {
namespace {

using ::testing::HasSubstr;
using Text = llm::ToldPrompt::Text;
using Ids = std::vector<int64_t>;

std::shared_ptr<const llm::Tokenizer> tokenizer() {
  static const auto kTokenizer = load_tokenizer(nullptr, {.path = "sim:"}, 0).value();
  return kTokenizer;
}

Ids ids_of(std::string_view text, bool control = true) {
  const std::vector<int32_t> ids = tokenizer()->encode(text, control, llm::SpecialTokens::kNone);
  return {ids.begin(), ids.end()};
}

Ids in_bytes(std::string_view text) {
  Ids ids;
  for (const char byte : text)
    ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

// As another vocabulary has it.
Ids moved(Ids ids) {
  for (int64_t& id : ids)
    id = (id + 1) % 500;
  return ids;
}

Ids joined(Ids front, const Ids& end) {
  front.insert(front.end(), end.begin(), end.end());
  return front;
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

struct Case {
  const char* name;
  Text place;
  std::string text;
  Ids ids;
  TokenizerMatch match;
  const char* difference = "";
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.name;
}

const std::string kWords = "the house is old";
const std::string kAccent = "cafe\u0301 old";  // not NFC
const std::string kComposed = "caf\u00e9 old";
const std::string kChinese = "漢字仮名交";

class TokenizerCheck : public ::testing::TestWithParam<Case> {};

TEST_P(TokenizerCheck, ComparesWhatItCan) {
  const Case& one = GetParam();
  const TokenizerVerdict verdict =
      check_tokenizer(*tokenizer(), {.place = one.place, .text = one.text, .ids = one.ids});
  EXPECT_EQ(verdict.match, one.match) << verdict.difference;
  EXPECT_THAT(verdict.difference, HasSubstr(one.difference));
}

INSTANTIATE_TEST_SUITE_P(
    WholePrompts, TokenizerCheck,
    ::testing::Values(
        Case{"the same ids", Text::kWhole, kWords, ids_of(kWords), TokenizerMatch::kSame},
        Case{"a short prompt", Text::kWhole, "a", ids_of("a"), TokenizerMatch::kSame},
        Case{"other ids", Text::kWhole, kWords, moved(ids_of(kWords)), TokenizerMatch::kOther,
             "and they differ from token 1 on"},
        Case{"more tokens of the same text", Text::kWhole, kWords, in_bytes(kWords),
             TokenizerMatch::kOther, "tokens and the server as 16"},
        Case{"an id that is none here",
             Text::kWhole,
             kWords,
             {1'000'000},
             TokenizerMatch::kOther,
             "the token 1000000, and its ids are 0 to"},
        Case{"an id below 0", Text::kWhole, kWords, {-1}, TokenizerMatch::kOther, "the token -1"},
        Case{"control tokens as text", Text::kWhole, "<|im_start|>hi",
             ids_of("<|im_start|>hi", /*control=*/false), TokenizerMatch::kSame},
        Case{"white space that was dropped", Text::kWhole, " the  house\n is old ", ids_of(kWords),
             TokenizerMatch::kSame},
        Case{"a text that the server normalised", Text::kWhole, kAccent, ids_of(kComposed),
             TokenizerMatch::kUnknown},
        Case{"another text than the server normalised", Text::kWhole, kAccent + kWords,
             moved(ids_of(kComposed + kWords)), TokenizerMatch::kOther,
             "in which the prompt is not"},
        Case{"a long one", Text::kWhole, repeated(kWords, 500), ids_of(repeated(kWords, 500)),
             TokenizerMatch::kSame},
        Case{"a long one of more tokens than are read", Text::kWhole, repeated("zq ", 9000),
             ids_of(repeated("zq ", 9000)), TokenizerMatch::kSame},
        Case{"a long one with other ids", Text::kWhole, repeated(kWords, 500),
             moved(ids_of(repeated(kWords, 500))), TokenizerMatch::kOther,
             "in which the prompt is not"},
        Case{"a long one without blanks", Text::kWhole, repeated(kChinese, 900),
             ids_of(repeated(kChinese, 900)), TokenizerMatch::kSame}),
    [](const auto& info) { return "n" + std::to_string(info.index); });

const std::string kBefore = "<|im_start|>system\nToday is the 3rd.<|im_end|>\n<|im_start|>user\n";
const std::string kBehind = "<|im_end|>\n<|im_start|>assistant\n";

INSTANTIATE_TEST_SUITE_P(
    Chats, TokenizerCheck,
    ::testing::Values(
        Case{"what the template adds", Text::kLastPart, "  " + kWords + "\n",
             ids_of(kBefore + kWords + kBehind), TokenizerMatch::kSame},
        Case{"other ids", Text::kLastPart, kWords, moved(ids_of(kBefore + kWords + kBehind)),
             TokenizerMatch::kOther, "in which the prompt is not"},
        Case{"words in another order", Text::kLastPart, kWords,
             ids_of(kBefore + "old is the house" + kBehind), TokenizerMatch::kOther},
        Case{"too little to say", Text::kLastPart, "hi", ids_of(kBefore + "hi" + kBehind),
             TokenizerMatch::kUnknown},
        Case{"too little and not there", Text::kLastPart, "hi", moved(ids_of(kBefore + "hi")),
             TokenizerMatch::kOther},
        Case{"no words", Text::kLastPart, "\U0001F600 \U0001F600", ids_of(kBefore),
             TokenizerMatch::kUnknown},
        Case{"characters that were normalised", Text::kLastPart, kAccent + " \uFF21 " + kWords,
             ids_of(kBefore + kComposed + " A " + kWords + kBehind), TokenizerMatch::kSame},
        Case{"a letter that a vowel sign was joined to", Text::kLastPart, kWords + " が\u3099",
             ids_of(kBefore + kWords + " \uFFFD" + kBehind), TokenizerMatch::kSame},
        Case{"a long message", Text::kLastPart, repeated(kWords + "\n", 5000),
             ids_of(kBefore + repeated(kWords + "\n", 5000) + kBehind), TokenizerMatch::kSame},
        Case{"a long message without blanks", Text::kLastPart, repeated(kChinese, 900),
             ids_of(kBefore + repeated(kChinese, 900) + kBehind), TokenizerMatch::kSame},
        Case{"a long message with other ids", Text::kLastPart, repeated(kWords + "\n", 5000),
             moved(ids_of(kBefore + repeated(kWords + "\n", 5000))), TokenizerMatch::kOther},
        Case{"the message is somewhere in a long prompt", Text::kPart, kWords,
             joined(ids_of(kBefore + kWords), in_bytes(repeated("tool", 2000))),
             TokenizerMatch::kUnknown},
        Case{"the message is somewhere in a prompt", Text::kPart, kWords,
             joined(ids_of(kBefore + kWords), in_bytes(repeated("tool", 200))),
             TokenizerMatch::kSame}),
    [](const auto& info) { return "n" + std::to_string(info.index); });

TEST(TokenizerCheckOfPrivateText, ADifferenceDoesNotQuoteThePrompt) {
  for (const Text place : {Text::kWhole, Text::kLastPart}) {
    const TokenizerVerdict verdict = check_tokenizer(
        *tokenizer(),
        {.place = place, .text = "my secret house", .ids = moved(ids_of("my secret house"))});
    EXPECT_EQ(verdict.match, TokenizerMatch::kOther);
    EXPECT_EQ(verdict.difference.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace windrow::fleet
