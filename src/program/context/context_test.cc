#include "program/context/context.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "llm/testing/chatml_tokenizer.h"

namespace windrow::program {
namespace {

using llm::testing::ChatmlTokenizer;
using Tokens = std::vector<int32_t>;

// Counts what a context asks of its tokenizer, and refuses it if told to.
class WatchedTokenizer final : public llm::Tokenizer {
 public:
  int32_t vocabulary_size() const override { return real_.vocabulary_size(); }
  int32_t context_tokens_max() const override { return real_.context_tokens_max(); }
  Tokens encode(std::string_view text, bool control, llm::SpecialTokens added) const override {
    return real_.encode(text, control, added);
  }
  void append_piece(int32_t token, std::string& bytes) const override {
    real_.append_piece(token, bytes);
  }
  bool is_control(int32_t token) const override { return real_.is_control(token); }
  std::variant<llm::RenderedChat, llm::Failure> render(const llm::Chat& chat,
                                                       bool asks_for_answer) const override {
    if (refuses_chats) return llm::Failure{.code = "chat_template_refused"};
    auto rendered = real_.render(chat, asks_for_answer);
    if (const auto* made = std::get_if<llm::RenderedChat>(&rendered)) tokens += made->tokens.size();
    return rendered;
  }
  std::variant<llm::AppendedTokens, llm::Failure> append(const llm::SampledAnswer& answer,
                                                         const llm::Chat& appended) const override {
    if (refuses_parts) return llm::Failure{.code = "unsupported_by_model"};
    had_system = answer.has_system;
    return real_.append(answer, appended);
  }
  std::unique_ptr<llm::AnswerReader> read_answer(const llm::Chat& chat,
                                                 std::span<const int32_t> prompt,
                                                 llm::ReadingOptions options) const override {
    return real_.read_answer(chat, prompt, std::move(options));
  }

  bool refuses_chats = false;
  bool refuses_parts = false;
  mutable size_t tokens = 0;  // that were rendered
  mutable bool had_system = false;

 private:
  ChatmlTokenizer real_;
};

class ContextTest : public ::testing::Test {
 protected:
  Context context(ContextOptions options = {}) const {
    return Context(
        std::make_shared<const ContextModel>(ContextModel{.name = "m", .tokenizer = tokenizer_}),
        options);
  }
  static Context upstream() {
    return Context(std::make_shared<const ContextModel>(ContextModel{.name = "u"}));
  }

  std::string said(const Context& context) const {
    const auto tokens = context.tokens();
    if (const auto* failure = std::get_if<llm::Failure>(&tokens)) return failure->code;
    return llm::text_of(*tokenizer_, std::get<Tokens>(tokens));
  }
  std::string asked(const Context& context, std::optional<bool> thinking = std::nullopt) const {
    const auto prompt = context.prompt(thinking);
    if (const auto* failure = std::get_if<llm::Failure>(&prompt)) return failure->code;
    return llm::text_of(*tokenizer_, std::get<Prompt>(prompt).tokens);
  }

  // The model answers, as its engine reads it.
  void answer(Context& context, std::string_view sampled,
              llm::FinishReason reason = llm::FinishReason::kStop,
              std::optional<bool> thinking = std::nullopt) const {
    const Prompt prompt = std::get<Prompt>(context.prompt(thinking));
    const auto reader = tokenizer_->read_answer(prompt.chat, prompt.tokens, {});
    const Tokens tokens = ChatmlTokenizer().tokens_of(sampled);
    reader->take(tokens);
    llm::Choice choice = reader->end(reason).choice;
    choice.token_ids = tokens;
    context.take(prompt, choice);
  }

  std::shared_ptr<WatchedTokenizer> tokenizer_ = std::make_shared<WatchedTokenizer>();
};

std::string code_of(const std::optional<llm::Failure>& failure) {
  return failure ? failure->code : "";
}

constexpr std::string_view kQuestion = "<|im_start|>user\nq<|im_end|>\n";
constexpr std::string_view kCue = "<|im_start|>assistant\n";

std::string operator+(std::string_view left, std::string_view right) {
  return std::string(left).append(right);
}

TEST_F(ContextTest, BehindAnAnswerTheModelSeesWhatItSampled) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kSystem, "s"));
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  EXPECT_EQ(said(ctx), "<|im_start|>system\ns<|im_end|>\n" + std::string(kQuestion));
  EXPECT_EQ(asked(ctx), said(ctx) + std::string(kCue));
  const Prompt prompt = std::get<Prompt>(ctx.prompt());
  llm::Choice choice{.text = "zz", .token_ids = {'z', 'z', ChatmlTokenizer::kEnd}};
  ctx.take(prompt, choice);
  ASSERT_FALSE(ctx.add(Role::kUser, "more"));
  const Tokens tokens = std::get<Prompt>(ctx.prompt()).tokens;
  EXPECT_TRUE(tokenizer_->had_system);
  EXPECT_EQ(tokens[prompt.tokens.size()], 'z');  // and not the one token for both
  EXPECT_EQ(llm::text_of(*tokenizer_, tokens),
            llm::text_of(*tokenizer_, prompt.tokens) +
                "zz<|im_end|>\n<|im_start|>user\nmore<|im_end|>\n" + std::string(kCue));
  EXPECT_EQ(said(ctx) + std::string(kCue), asked(ctx));
  EXPECT_EQ(ctx.messages(), boost::json::parse(R"([{"role":"system","content":"s"},
      {"role":"user","content":"q"},{"role":"assistant","content":"zz"},
      {"role":"user","content":"more"}])"));
  EXPECT_EQ(ctx.text(), "s\nq\nzz\nmore");
}

TEST_F(ContextTest, AnEndTokenThatIsNotTheTemplatesIsDropped) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  answer(ctx, "a<|endoftext|>");
  EXPECT_EQ(said(ctx), kQuestion + kCue + "a<|endoftext|>");
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  EXPECT_EQ(said(ctx), kQuestion + kCue + "a<|im_end|>\n" + std::string(kQuestion));
}

TEST_F(ContextTest, ThoughtsStayUntilTheNextUser) {
  const std::string thoughts = "<think>\nhm\n</think>\n\n";
  for (const bool kept : {false, true}) {
    Context ctx = context({.keep_thoughts = kept});
    ASSERT_FALSE(ctx.add(Role::kUser, "q"));
    answer(ctx, thoughts + "zz<|im_end|>");
    const Context before = ctx;
    EXPECT_EQ(said(ctx), kQuestion + kCue + thoughts + "zz<|im_end|>");
    EXPECT_EQ(ctx.messages()[1].at("reasoning_content"), "hm");
    answer(ctx, "b<|im_end|>");  // no user spoke: they are still there
    EXPECT_NE(said(ctx).find("hm"), std::string::npos);

    ASSERT_FALSE(ctx.add(Role::kUser, "r"));
    EXPECT_EQ(said(ctx).find("hm") != std::string::npos, kept);
    EXPECT_EQ(ctx.messages()[1].as_object().contains("reasoning_content"), kept);
    EXPECT_EQ(asked(ctx), kQuestion + kCue + (kept ? thoughts : "") + "zz<|im_end|>\n" +
                              std::string(kCue) + "b<|im_end|>\n<|im_start|>user\nr<|im_end|>\n" +
                              std::string(kCue));
    EXPECT_EQ(said(before), kQuestion + kCue + thoughts + "zz<|im_end|>");
  }
}

TEST_F(ContextTest, AnswersBeforeThoughtsKeepTheirTokens) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ctx.take(std::get<Prompt>(ctx.prompt()),
           {.text = "zz", .token_ids = {'z', 'z', ChatmlTokenizer::kEnd}});
  const size_t exact = std::get<Tokens>(ctx.tokens()).size();
  ASSERT_FALSE(ctx.add(Role::kUser, "r"));
  answer(ctx, "<think>\nhm\n</think>\n\nb<|im_end|>");
  ASSERT_FALSE(ctx.add(Role::kUser, "s"));
  const Tokens tokens = std::get<Tokens>(ctx.tokens());
  EXPECT_EQ(tokens[exact - 2], 'z');
  EXPECT_EQ(tokens[exact - 3], 'z');
  EXPECT_EQ(said(ctx).find("hm"), std::string::npos);
}

TEST_F(ContextTest, ThinkingIsAWishOfTheContextOrOfOneAnswer) {
  Context ctx = context({.thinking = false});
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  EXPECT_EQ(asked(ctx), kQuestion + kCue + "<think>\n\n</think>\n\n");
  EXPECT_EQ(asked(ctx, true), kQuestion + kCue);
  EXPECT_EQ(said(ctx), kQuestion);
  answer(ctx, "a<|im_end|>", llm::FinishReason::kStop, true);
  EXPECT_EQ(said(ctx), kQuestion + kCue + "a<|im_end|>");
}

TEST_F(ContextTest, AnAnswerThatWasCutIsASealedTurn) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  answer(ctx, "on and", llm::FinishReason::kLength);
  EXPECT_TRUE(ctx.is_truncated());
  EXPECT_EQ(asked(ctx), kQuestion + kCue + "on and<|im_end|>\n" + std::string(kCue));
  answer(ctx, "b<|im_end|>");
  EXPECT_FALSE(ctx.is_truncated());
}

TEST_F(ContextTest, AnOpenAnswerGoesOnWithWhatIsAppended) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ASSERT_FALSE(ctx.append("The answer "));
  ASSERT_FALSE(ctx.append(Tokens{'i', 's'}));
  EXPECT_EQ(said(ctx), kQuestion + kCue + "The answer is");
  EXPECT_EQ(asked(ctx), said(ctx));
  EXPECT_EQ(ctx.messages().size(), 2U);
  EXPECT_TRUE(std::get<Prompt>(ctx.prompt()).chat.messages.empty()) << "the tokens say it all";
  Context closed = ctx;
  answer(ctx, " 4<|im_end|>");
  EXPECT_EQ(said(ctx), kQuestion + kCue + "The answer is 4<|im_end|>");
  EXPECT_EQ(ctx.messages()[1].at("content"), "The answer is 4");

  EXPECT_EQ(code_of(closed.add(Role::kSystem, "s")), "context_is_open");
  EXPECT_EQ(said(closed), kQuestion + kCue + "The answer is");
  ASSERT_FALSE(closed.add(Role::kUser, "q"));
  EXPECT_EQ(said(closed), kQuestion + kCue + "The answer is<|im_end|>\n" + std::string(kQuestion));
  EXPECT_EQ(closed.messages()[1].at("content"), "The answer is");
}

TEST_F(ContextTest, ThoughtsMayBeginInWhatIsAppended) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ASSERT_FALSE(ctx.append("<think>\nlet me"));
  answer(ctx, " see\n</think>\n\n4<|im_end|>");
  EXPECT_EQ(ctx.messages()[1], boost::json::parse(R"({"role":"assistant","content":"4",
                                                      "reasoning_content":"let me see"})"));
}

TEST_F(ContextTest, ACueWithoutAWordLeavesNothing) {
  Context ctx = context();
  EXPECT_EQ(code_of(ctx.cue()), "context_is_empty");
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ASSERT_FALSE(ctx.cue());
  ASSERT_FALSE(ctx.cue());
  EXPECT_EQ(said(ctx), kQuestion + kCue);
  ASSERT_FALSE(ctx.add(Role::kSystem, "s"));
  EXPECT_EQ(said(ctx), kQuestion + "<|im_start|>system\ns<|im_end|>\n");
}

TEST_F(ContextTest, ATextThatIsChosenEndsTheAnswer) {
  Context ctx = context();
  EXPECT_EQ(code_of(ctx.take_text("yes")), "context_is_empty");
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ASSERT_FALSE(ctx.append("I say "));
  ASSERT_FALSE(ctx.take_text("yes"));
  EXPECT_EQ(ctx.messages()[1].at("content"), "I say yes");
  ASSERT_FALSE(ctx.take_text(""));
  EXPECT_EQ(said(ctx),
            kQuestion + kCue + "I say yes<|im_end|>\n" + std::string(kCue) + "<|im_end|>\n");
  EXPECT_EQ(ctx.messages().size(), 3U);
}

TEST_F(ContextTest, AnEmptyContextBecomesRawTextByAppend) {
  Context ctx = context();
  EXPECT_EQ(asked(ctx), "context_is_empty");
  EXPECT_EQ(said(ctx), "");
  ASSERT_FALSE(ctx.append(""));
  ASSERT_FALSE(ctx.append("Q: zz<|im_end|>"));
  const Prompt prompt = std::get<Prompt>(ctx.prompt());
  EXPECT_TRUE(prompt.is_raw);
  EXPECT_TRUE(prompt.chat.messages.empty());
  EXPECT_EQ(prompt.tokens, ChatmlTokenizer().tokens_of("Q: zz<|im_end|>"));
  ctx.take(prompt, {.text = " yes", .token_ids = ChatmlTokenizer().tokens_of(" yes<|endoftext|>")});
  ASSERT_FALSE(ctx.append("\n"));
  ASSERT_FALSE(ctx.append(Tokens{'b'}));
  ASSERT_FALSE(ctx.take_text("c"));
  EXPECT_EQ(said(ctx), "Q: zz<|im_end|> yes\nbc");
  EXPECT_EQ(ctx.text(), said(ctx));
  EXPECT_EQ(code_of(ctx.add(Role::kUser, "q")), "context_is_raw");
  EXPECT_EQ(code_of(ctx.cue()), "context_is_raw");
  EXPECT_EQ(said(ctx), "Q: zz<|im_end|> yes\nbc");
  ASSERT_FALSE(ctx.truncate(5));
  EXPECT_EQ(said(ctx), "Q: zz<|im_end|>");
  ASSERT_FALSE(ctx.truncate(0));
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  EXPECT_EQ(said(ctx), kQuestion);
}

TEST_F(ContextTest, TokensOutsideTheVocabularyAreRefused) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  const std::optional<llm::Failure> failure = ctx.append(Tokens{'a', 260});
  EXPECT_EQ(code_of(failure), "invalid_token");
  EXPECT_NE(failure->message.find("260 at position 2"), std::string::npos);
  EXPECT_EQ(code_of(ctx.append(Tokens{-1})), "invalid_token");
  EXPECT_EQ(said(ctx), kQuestion);
}

TEST_F(ContextTest, TruncateWithinAnAnswerOpensItAgain) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  const size_t begin = std::get<Prompt>(ctx.prompt()).tokens.size();
  answer(ctx, "abc<|im_end|>");
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ASSERT_FALSE(ctx.truncate(1000));

  Context sealed = ctx;
  ASSERT_FALSE(sealed.truncate(begin + 4));
  EXPECT_EQ(said(sealed), kQuestion + kCue + "abc<|im_end|>");
  ASSERT_FALSE(sealed.append("d"));  // another answer
  EXPECT_EQ(said(sealed), kQuestion + kCue + "abc<|im_end|>\n" + std::string(kCue) + "d");

  Context open = ctx;
  ASSERT_FALSE(open.truncate(begin + 2));
  ASSERT_FALSE(open.append("x"));
  EXPECT_EQ(said(open), kQuestion + kCue + "abx");
  EXPECT_EQ(open.messages().size(), 2U);

  Context opened = ctx;
  ASSERT_FALSE(opened.truncate(begin));
  EXPECT_EQ(said(opened), kQuestion + kCue);
  answer(opened, "n<|im_end|>");
  EXPECT_EQ(opened.messages()[1].at("content"), "n");

  Context raw = ctx;
  ASSERT_FALSE(raw.truncate(begin - 1));
  EXPECT_TRUE(std::get<Prompt>(raw.prompt()).is_raw);
  EXPECT_TRUE(raw.messages().empty());
  Context behind = ctx;
  ASSERT_FALSE(behind.truncate(begin + 6));
  EXPECT_TRUE(std::get<Prompt>(behind.prompt()).is_raw);
}

// Its end is not there any more once a message follows, so no cut can seal it.
TEST_F(ContextTest, TruncateBehindAnAnswerWhoseEndWasDropped) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  const size_t begin = std::get<Prompt>(ctx.prompt()).tokens.size();
  answer(ctx, "abc<|endoftext|>");
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  Context open = ctx;
  ASSERT_FALSE(open.truncate(begin + 3));
  EXPECT_EQ(said(open), kQuestion + kCue + "abc");
  EXPECT_FALSE(std::get<Prompt>(open.prompt()).is_raw);
  ASSERT_FALSE(ctx.truncate(begin + 4));
  EXPECT_EQ(said(ctx), kQuestion + kCue + "abc<|im_end|>");
  EXPECT_TRUE(std::get<Prompt>(ctx.prompt()).is_raw);
}

TEST_F(ContextTest, AStopTextIsNoPartOfTheConversation) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  llm::Choice choice{
      .text = "one", .stopped_by = "\n", .token_ids = ChatmlTokenizer().tokens_of("one\n")};
  ctx.take(std::get<Prompt>(ctx.prompt()), choice);
  EXPECT_EQ(asked(ctx), kQuestion + kCue + "one<|im_end|>\n" + std::string(kCue));
}

TEST_F(ContextTest, WhatTheTemplateRefusesChangesNothing) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  tokenizer_->refuses_chats = true;
  EXPECT_EQ(code_of(ctx.cue()), "chat_template_refused");
  EXPECT_EQ(code_of(ctx.append("a")), "chat_template_refused");
  EXPECT_EQ(code_of(ctx.append(Tokens{'a'})), "chat_template_refused");
  EXPECT_EQ(code_of(ctx.take_text("a")), "chat_template_refused");
  EXPECT_EQ(code_of(ctx.truncate(1)), "chat_template_refused");
  EXPECT_EQ(asked(ctx), "chat_template_refused");
  EXPECT_EQ(said(ctx), "chat_template_refused");
  tokenizer_->refuses_chats = false;
  EXPECT_EQ(said(ctx), kQuestion);
}

TEST_F(ContextTest, WhereATemplateHasNoPartsTheWholeConversationIsRendered) {
  tokenizer_->refuses_parts = true;
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ctx.take(std::get<Prompt>(ctx.prompt()),
           {.text = "zz", .token_ids = {'z', 'z', ChatmlTokenizer::kEnd}});
  const size_t begin = std::get<Tokens>(ctx.tokens()).size() - 3;
  ASSERT_FALSE(ctx.add(Role::kUser, "r"));
  EXPECT_EQ(asked(ctx),
            kQuestion + kCue + "zz<|im_end|>\n<|im_start|>user\nr<|im_end|>\n" + std::string(kCue));
  EXPECT_EQ(std::get<Tokens>(ctx.tokens()).at(begin), ChatmlTokenizer::kPair);
  answer(ctx, "b<|im_end|>");
  EXPECT_EQ(ctx.messages().size(), 4U);
  EXPECT_EQ(std::get<Tokens>(ctx.tokens()).at(begin), ChatmlTokenizer::kPair);
}

TEST_F(ContextTest, ForksShareWhatIsRenderedAndItsMemory) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, std::string(2000, 'q')));
  const size_t alone = ctx.bytes();
  std::vector<Context> forks(32, ctx);
  for (Context& fork : forks)
    answer(fork, "yes<|im_end|>");
  EXPECT_GT(tokenizer_->tokens, 2000U);
  EXPECT_LT(tokenizer_->tokens, 2100U);
  EXPECT_GT(alone, 2000U);
  for (Context& fork : forks) {
    EXPECT_LT(fork.bytes(), 1000U);
    EXPECT_GT(fork.bytes(), sizeof(Context));
    EXPECT_GT(std::get<Tokens>(fork.tokens()).size(), 2000U);
  }
  EXPECT_LT(tokenizer_->tokens, 2100U);
  Context last = forks.front();
  forks.clear();
  ctx = context();
  EXPECT_GT(last.bytes(), 2000 * sizeof(int32_t));
  EXPECT_TRUE(said(last).ends_with("yes<|im_end|>"));

  // Of an open answer, too.
  ASSERT_FALSE(last.append(std::string(5000, 'x')));
  const Context fork = last;
  EXPECT_LT(fork.bytes(), 1000U);
}

TEST_F(ContextTest, MessagesThatFollowAnAnswerAreRenderedOnce) {
  Context ctx = context();
  ASSERT_FALSE(ctx.add(Role::kUser, std::string(2000, 'q')));
  answer(ctx, "yes<|im_end|>");
  tokenizer_->tokens = 0;
  ASSERT_FALSE(ctx.add(Role::kUser, "r"));
  said(ctx);
  answer(ctx, "no<|im_end|>");
  EXPECT_LT(tokenizer_->tokens, 200U);  // the 2,000 are not rendered again
}

TEST_F(ContextTest, LongChainsAreDestroyed) {
  constexpr size_t kLinks = 500'000;
  PieceChain pieces;
  TurnChain turns;
  for (size_t i = 0; i < kLinks; ++i) {
    pieces = std::make_shared<Piece>(std::move(pieces), Tokens{1}, "");
    turns = std::make_shared<Turn>(std::move(turns), boost::json::object());
  }
  EXPECT_EQ(pieces->end, kLinks);
  EXPECT_EQ(messages_behind(nullptr, turns.get()).size(), kLinks);
}

TEST_F(ContextTest, AModelElsewhereHasMessages) {
  Context ctx = upstream();
  ASSERT_FALSE(ctx.add(Role::kUser, "q"));
  ASSERT_FALSE(ctx.cue());
  const std::optional<llm::Failure> failure = ctx.append("a");
  EXPECT_EQ(code_of(failure), "not_for_upstream");
  EXPECT_NE(failure->message.find("a server elsewhere has the model \"u\""), std::string::npos);
  EXPECT_EQ(code_of(ctx.append(Tokens{1})), "not_for_upstream");
  EXPECT_EQ(code_of(ctx.truncate(1)), "not_for_upstream");
  EXPECT_EQ(said(ctx), "not_for_upstream");
  const Prompt prompt = std::get<Prompt>(ctx.prompt(true));
  EXPECT_TRUE(prompt.tokens.empty());
  EXPECT_FALSE(prompt.is_raw);
  EXPECT_EQ(prompt.chat.messages.size(), 1U);
  EXPECT_EQ(prompt.chat.wishes, boost::json::parse(R"({"enable_thinking":true})"));
  ctx.take(prompt, {.text = "a", .reasoning = "hm", .finish_reason = llm::FinishReason::kLength});
  EXPECT_TRUE(ctx.is_truncated());
  EXPECT_EQ(ctx.messages()[1].at("reasoning_content"), "hm");
  const Context fork = ctx;
  ASSERT_FALSE(ctx.add(Role::kUser, "r"));
  ASSERT_FALSE(ctx.take_text("b"));
  EXPECT_EQ(ctx.messages(), boost::json::parse(R"([{"role":"user","content":"q"},
      {"role":"assistant","content":"a"},{"role":"user","content":"r"},
      {"role":"assistant","content":"b"}])"));
  EXPECT_EQ(fork.messages().size(), 2U);
  EXPECT_EQ(fork.messages()[1].at("reasoning_content"), "hm");
}

TEST_F(ContextTest, AModelElsewhereCompletesRawText) {
  Context ctx = upstream();
  ASSERT_FALSE(ctx.append("once "));
  ASSERT_FALSE(ctx.append("upon "));
  const Prompt prompt = std::get<Prompt>(ctx.prompt());
  EXPECT_TRUE(prompt.is_raw);
  EXPECT_EQ(prompt.text, "once upon ");
  ctx.take(prompt, {.text = "a time"});
  EXPECT_EQ(ctx.text(), "once upon a time");
}

}  // namespace
}  // namespace windrow::program
