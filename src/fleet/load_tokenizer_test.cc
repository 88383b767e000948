#include "fleet/load_tokenizer.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "llm/request.h"

namespace windrow::fleet {
namespace {

constexpr int64_t kDate = 1'700'000'000;

std::shared_ptr<const llm::Tokenizer> simulated(const std::string& path) {
  return load_tokenizer(nullptr, {.path = path}, kDate).value();
}

TEST(LoadTokenizer, ASimulatedModelHasOne) {
  const auto tokenizer = simulated("sim:");
  const std::string text = "<|im_start|>Zoë said yes";
  const std::vector<int32_t> tokens =
      tokenizer->encode(text, /*control=*/true, llm::SpecialTokens::kNone);
  EXPECT_LT(tokens.size(), text.size());
  EXPECT_EQ(text_of(*tokenizer, tokens), text);
  EXPECT_LT(tokens.size(),
            tokenizer->encode(text, /*control=*/false, llm::SpecialTokens::kNone).size());
  EXPECT_GT(tokenizer->context_tokens_max(), 0);
}

TEST(LoadTokenizer, RendersWithAndWithoutTheBeginningOfAnAnswer) {
  const auto tokenizer = simulated("sim:");
  const llm::Chat chat{.messages = {{{"role", "user"}, {"content", "hi"}}}};
  const auto asked = std::get<llm::RenderedChat>(tokenizer->render(chat, true));
  const auto said = std::get<llm::RenderedChat>(tokenizer->render(chat, false));
  EXPECT_EQ(said.text, "<|im_start|>user\nhi<|im_end|>\n");
  EXPECT_EQ(asked.text, said.text + "<|im_start|>assistant\n");
  EXPECT_EQ(text_of(*tokenizer, asked.tokens), asked.text);
}

TEST(LoadTokenizer, AWrongChoiceIsAnError) {
  EXPECT_EQ(load_tokenizer(nullptr, {.path = "sim:no_such=1"}, kDate).error().kind,
            ErrorKind::kInvalid);
  EXPECT_EQ(load_tokenizer(nullptr, {.path = "sim:", .chat_template = "/no/such.jinja"}, kDate)
                .error()
                .kind,
            ErrorKind::kNotFound);
}

TEST(LazyTokenizer, IsLoadedOnceAndAgainOnlyAfterAnError) {
  int loads = 0;
  const auto ready = simulated("sim:");
  llm::LazyTokenizer lazy([&]() -> Result<std::shared_ptr<const llm::Tokenizer>> {
    if (++loads == 1) return Error{ErrorKind::kIo, "not now"};
    return ready;
  });
  EXPECT_FALSE(lazy.get().has_value());
  EXPECT_EQ(lazy.get().value(), ready);
  EXPECT_EQ(lazy.get().value(), ready);
  EXPECT_EQ(loads, 2);
}

}  // namespace
}  // namespace windrow::fleet
