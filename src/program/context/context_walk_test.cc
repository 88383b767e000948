// Random walks: contexts against a naive model that has the whole conversation and writes it anew
// each time, in ChatML as ChatmlTokenizer has it. Whatever is done to one, its forks stay the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "llm/testing/chatml_tokenizer.h"
#include "program/context/context.h"

namespace windrow::program {
namespace {

using llm::testing::ChatmlTokenizer;
using Tokens = std::vector<int32_t>;

constexpr int kTemplate = -1;

// The template of this one cannot be rendered in parts.
class WholeTokenizer final : public llm::Tokenizer {
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
    return real_.render(chat, asks_for_answer);
  }
  std::variant<llm::AppendedTokens, llm::Failure> append(const llm::SampledAnswer& /*answer*/,
                                                         const llm::Chat& /*more*/) const override {
    return llm::Failure{.code = "unsupported_by_model"};
  }
  std::unique_ptr<llm::AnswerReader> read_answer(const llm::Chat& chat,
                                                 std::span<const int32_t> prompt,
                                                 llm::ReadingOptions options) const override {
    return real_.read_answer(chat, prompt, std::move(options));
  }

 private:
  ChatmlTokenizer real_;
};

// A message, or an answer as it was sampled.
struct Item {
  std::string role;
  std::string text;
  std::string thoughts;
  Tokens sampled;        // not empty: these are its tokens
  bool thinking = true;  // as it was rendered
};

struct Naive {
  bool has_parts = true;
  bool keeps_thoughts = false;
  std::vector<Item> items;
  bool is_open = false;
  bool is_raw = false;
  bool open_thinking = true;
  Tokens said;  // of the open answer, or raw

  // The conversation with, for each token, the number of the answer that it is of.
  struct Written {
    Tokens tokens;
    std::vector<int> of;
    std::map<size_t, int> begins;  // of answers

    void write(const Tokens& more, int answer) {
      tokens.insert(tokens.end(), more.begin(), more.end());
      of.resize(tokens.size(), answer);
    }
    void write(std::string_view text, bool control) {
      write(ChatmlTokenizer().encode(text, control, llm::SpecialTokens::kNone), kTemplate);
    }
    void close_answer() {
      if (tokens.back() == ChatmlTokenizer::kEnd) {
        write("\n", true);
        return;
      }
      if (tokens.back() == ChatmlTokenizer::kEndOfText) {
        tokens.pop_back();
        of.pop_back();
      }
      write("<|im_end|>\n", true);
    }
    void open_answer(bool thinking) {
      write("<|im_start|>assistant\n", true);
      if (!thinking) write("<think>\n\n</think>\n\n", false);
    }
  };

  bool ends_with_answer() const { return !items.empty() && !items.back().sampled.empty(); }

  // What is rendered behind an answer, where the template has no parts, renders all again.
  std::vector<Item> as_rendered(bool asks, bool thinking) const {
    std::vector<Item> all = items;
    const bool renders = asks || (!all.empty() && all.back().sampled.empty());
    size_t pending = all.size();
    while (pending > 0 && all[pending - 1].sampled.empty())
      --pending;
    if (!has_parts && renders && pending > 0) {
      for (Item& item : all)
        item.sampled.clear();
      pending = 0;
    }
    for (size_t i = pending; i < all.size(); ++i)
      all[i].thinking = thinking;
    return all;
  }

  Written written(bool asks, bool thinking) const {
    Written out;
    if (is_raw) {
      out.write(said, 0);
      return out;
    }
    const std::vector<Item> all = is_open ? items : as_rendered(asks, thinking);
    for (size_t i = 0; i < all.size(); ++i) {
      const Item& item = all[i];
      if (i > 0 && !all[i - 1].sampled.empty()) out.close_answer();
      if (!item.sampled.empty()) {
        out.open_answer(item.thinking);
        out.begins[out.tokens.size()] = static_cast<int>(i);
        out.write(item.sampled, static_cast<int>(i));
        continue;
      }
      out.write("<|im_start|>" + item.role + "\n", true);
      if (item.role == "assistant") {
        if (!item.thoughts.empty()) {
          out.write("<think>\n" + item.thoughts + "\n</think>\n\n", false);
        } else if (!item.thinking) {
          out.write("<think>\n\n</think>\n\n", false);
        }
      }
      out.write(item.text, false);
      out.write("<|im_end|>\n", true);
    }
    if (is_open || asks) {
      if (!all.empty() && !all.back().sampled.empty()) out.close_answer();
      out.open_answer(is_open ? open_thinking : thinking);
    }
    if (is_open) {
      out.begins[out.tokens.size()] = static_cast<int>(all.size());
      out.write(said, static_cast<int>(all.size()));
    }
    return out;
  }

  void open(bool thinking) {
    if (is_open) return;
    items = as_rendered(true, thinking);
    is_open = true;
    open_thinking = thinking;
  }

  void seal(const Tokens& more) {
    Tokens before = written(true, true).tokens;
    before.resize(before.size() - said.size());
    said.insert(said.end(), more.begin(), more.end());
    Item item{.role = "assistant", .sampled = std::exchange(said, {}), .thinking = open_thinking};
    is_open = false;
    const ChatmlTokenizer tokenizer;
    const auto reader = tokenizer.read_answer({}, before, {});
    reader->take(item.sampled);
    const llm::Choice read = reader->end(llm::FinishReason::kStop).choice;
    item.text = read.text;
    item.thoughts = read.reasoning.value_or("");
    items.push_back(std::move(item));
  }

  void add(std::string role, std::string text) {
    if (!said.empty()) seal({});
    is_open = false;
    if (role == "user" && !keeps_thoughts) {
      bool thought = false;
      for (Item& item : items) {
        thought |= !item.thoughts.empty();
        if (!thought) continue;
        item.thoughts.clear();
        item.sampled.clear();
      }
    }
    items.push_back({.role = std::move(role), .text = std::move(text)});
  }

  void truncate(size_t count) {
    const Written all = written(false, true);
    if (count >= all.tokens.size()) return;
    const Tokens kept(all.tokens.begin(), all.tokens.begin() + static_cast<std::ptrdiff_t>(count));
    if (is_raw || count == 0) {
      is_raw = count > 0;
      if (count == 0) items.clear(), is_open = false;
      said = kept;
      return;
    }
    if (!is_open) items = as_rendered(false, true);
    const int last = all.of[count - 1];
    const auto size = static_cast<size_t>(
        std::count(all.of.begin(), all.of.begin() + static_cast<std::ptrdiff_t>(count), last));
    const auto begun = all.begins.find(count);
    const int begins = begun == all.begins.end() ? kTemplate : begun->second;
    const int answer = last != kTemplate ? last : begins;
    if (answer == kTemplate) {
      *this = {.has_parts = has_parts, .keeps_thoughts = keeps_thoughts, .is_raw = true};
      said = kept;
      return;
    }
    const auto index = static_cast<size_t>(answer);
    const size_t begin = last == kTemplate ? count : count - size;
    if (index < items.size()) {
      if (last != kTemplate && size == items[index].sampled.size()) {
        items.resize(index + 1);
        is_open = false;
        said.clear();
        return;
      }
      is_open = true;
      open_thinking = items[index].thinking;
      items.resize(index);
    }
    said.assign(kept.begin() + static_cast<std::ptrdiff_t>(begin), kept.end());
  }
};

struct Pair {
  Context context;
  Naive naive;
};

void expect_same(const Pair& pair) {
  const auto& [context, naive] = pair;
  const auto tokens = context.tokens();
  ASSERT_TRUE(std::holds_alternative<Tokens>(tokens));
  const ChatmlTokenizer tokenizer;
  ASSERT_EQ(llm::text_of(tokenizer, std::get<Tokens>(tokens)),
            llm::text_of(tokenizer, naive.written(false, true).tokens));
  ASSERT_EQ(std::get<Tokens>(tokens), naive.written(false, true).tokens);
  if (naive.is_raw) {
    ASSERT_EQ(context.text(), llm::text_of(tokenizer, naive.said));
  } else {
    Naive closed = naive;
    if (!closed.said.empty()) closed.seal({});
    const boost::json::array messages = context.messages();
    ASSERT_EQ(messages.size(), closed.items.size());
    for (size_t i = 0; i < messages.size(); ++i) {
      const Item& item = closed.items[i];
      boost::json::object message{{"role", item.role}, {"content", item.text}};
      if (!item.thoughts.empty()) message["reasoning_content"] = item.thoughts;
      ASSERT_EQ(boost::json::serialize(messages[i]), boost::json::serialize(message));
    }
  }
  const auto prompt = context.prompt();
  if (std::get<Tokens>(tokens).empty() && naive.items.empty()) {
    ASSERT_EQ(std::get<llm::Failure>(prompt).code, "context_is_empty");
    return;
  }
  ASSERT_EQ(std::get<Prompt>(prompt).tokens, naive.written(true, true).tokens);
  ASSERT_EQ(std::get<Prompt>(prompt).is_raw, naive.is_raw);
}

class Walk {
 public:
  Walk(uint64_t seed, std::shared_ptr<const llm::Tokenizer> tokenizer, bool has_parts)
      : random_(seed), tokenizer_(std::move(tokenizer)) {
    const bool keeps = random_.chance(0.5);
    pairs_.push_back({.context = Context(std::make_shared<const ContextModel>(
                                             ContextModel{.name = "m", .tokenizer = tokenizer_}),
                                         {.keep_thoughts = keeps}),
                      .naive = {.has_parts = has_parts, .keeps_thoughts = keeps}});
  }

  void step() {
    const size_t at = random_.below(pairs_.size());
    if (random_.chance(0.2)) {
      fork(at);
      return;
    }
    act(pairs_[at]);
    for (const Pair& pair : pairs_)
      ASSERT_NO_FATAL_FAILURE(expect_same(pair)) << log_;
  }

 private:
  std::string text() {
    constexpr std::string_view kParts[] = {"a", "b ", "zz", "é", "<|im_end|>", "z", "\n"};
    std::string text;
    for (uint64_t n = random_.below(5); n > 0; --n)
      text += kParts[random_.below(std::size(kParts))];
    return text;
  }

  void fork(size_t at) {
    if (pairs_.size() < 5) {
      pairs_.push_back(pairs_[at]);
    } else if (at > 0) {
      pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void act(Pair& pair) {
    switch (random_.below(8)) {
      case 0:
        add(pair, Role::kUser, "user");
        break;
      case 1:
        add(pair, Role::kAssistant, "assistant");
        break;
      case 2:
        add(pair, Role::kSystem, "system");
        break;
      case 3:
        append(pair);
        break;
      case 4:
        log_ += "cue\n";
        if (!pair.context.cue()) pair.naive.open(true);
        break;
      case 5: {
        const size_t count = random_.below(pair.naive.written(false, true).tokens.size() + 5);
        // Mostly cuts near the end, so that walks get somewhere.
        const size_t size = pair.naive.written(false, true).tokens.size();
        const size_t cut = random_.chance(0.8) ? size - std::min(size, random_.below(24)) : count;
        log_ += "truncate " + std::to_string(cut) + "\n";
        ASSERT_FALSE(pair.context.truncate(cut));
        pair.naive.truncate(cut);
        break;
      }
      default:
        generate(pair);
    }
  }

  void add(Pair& pair, Role role, std::string name) {
    const std::string content = text();
    log_ += name + " " + content + "\n";
    const std::optional<llm::Failure> failure = pair.context.add(role, content);
    if (pair.naive.is_raw) {
      ASSERT_TRUE(failure && failure->code == "context_is_raw");
    } else if (role == Role::kSystem && !pair.naive.said.empty()) {
      ASSERT_TRUE(failure && failure->code == "context_is_open");
    } else {
      ASSERT_FALSE(failure);
      pair.naive.add(std::move(name), content);
    }
  }

  void append(Pair& pair) {
    const std::string content = text();
    log_ += "append " + content + "\n";
    Naive& naive = pair.naive;
    const bool raw = naive.is_raw || (naive.items.empty() && !naive.is_open);
    const Tokens tokens = tokenizer_->encode(content, raw, llm::SpecialTokens::kNone);
    if (random_.chance(0.5)) {
      ASSERT_FALSE(pair.context.append(content));
    } else {
      ASSERT_FALSE(pair.context.append(tokens));
    }
    if (raw) {
      naive.is_raw = naive.is_raw || !tokens.empty();
    } else {
      naive.open(true);
    }
    naive.said.insert(naive.said.end(), tokens.begin(), tokens.end());
  }

  void generate(Pair& pair) {
    const bool thinking = pair.naive.is_open ? pair.naive.open_thinking : random_.chance(0.7);
    const auto made = pair.context.prompt(thinking);
    if (std::holds_alternative<llm::Failure>(made)) return;
    const Prompt& prompt = std::get<Prompt>(made);
    ASSERT_EQ(prompt.tokens, pair.naive.written(true, thinking).tokens);

    Tokens sampled;
    const auto sample = [&](std::string_view words) {
      const Tokens more = tokenizer_->encode(words, false, llm::SpecialTokens::kNone);
      sampled.insert(sampled.end(), more.begin(), more.end());
    };
    const bool thinks = thinking && pair.naive.said.empty() && random_.chance(0.3);
    if (thinks) sample("<think>\nwhy zz\n</think>\n\n");
    // "zz" as the model may sample it, which is not how it is tokenised.
    for (uint64_t n = random_.below(4); n > 0; --n)
      sampled.push_back(random_.chance(0.5) ? 'z' : ChatmlTokenizer::kPair);
    const uint64_t end = random_.below(3);
    if (end == 0) sampled.push_back(ChatmlTokenizer::kEnd);
    if (end == 1) sampled.push_back(ChatmlTokenizer::kEndOfText);
    const auto reason = end == 2 ? llm::FinishReason::kLength : llm::FinishReason::kStop;
    log_ += "generate " + llm::text_of(*tokenizer_, sampled) + "\n";

    const auto reader = tokenizer_->read_answer(prompt.chat, prompt.tokens, {});
    reader->take(sampled);
    llm::Choice choice = reader->end(reason).choice;
    choice.token_ids = sampled;
    pair.context.take(prompt, choice);
    ASSERT_EQ(pair.context.is_truncated(), end == 2);

    Naive& naive = pair.naive;
    if (naive.is_raw) {
      if (end != 2) sampled.pop_back();
      naive.said.insert(naive.said.end(), sampled.begin(), sampled.end());
    } else if (sampled.empty() && naive.said.empty()) {
      naive.is_open = false;
      naive.items.push_back({.role = "assistant"});
    } else {
      naive.open(thinking);
      naive.seal(sampled);
    }
  }

  Random random_;
  std::shared_ptr<const llm::Tokenizer> tokenizer_;
  std::vector<Pair> pairs_;
  std::string log_;
};

TEST(ContextWalk, ContextsAreWhatIsWrittenAnew) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, std::make_shared<const ChatmlTokenizer>(), true);
    for (int i = 0; i < 50; ++i)
      ASSERT_NO_FATAL_FAILURE(walk.step());
  }
}

TEST(ContextWalk, ContextsOfTemplatesWithoutPartsAreWhatIsWrittenAnew) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, std::make_shared<const WholeTokenizer>(), false);
    for (int i = 0; i < 50; ++i)
      ASSERT_NO_FATAL_FAILURE(walk.step());
  }
}

}  // namespace
}  // namespace windrow::program
