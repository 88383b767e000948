// The tokens that our grammars allow against those that libllama's own grammar sampler leaves, for
// the same GBNF text, token by token along random answers.
//
// Where the two differ by intent, it is said here and nowhere passed over:
// - libllama writes control tokens out ("<|im_start|>" is text to it); here they are never allowed.
// - It leaves no token that begins with the byte 0, because it takes that for the end of a text.
// - It leaves bytes that begin no character (F5 and up, surrogates, longer forms than needed).
// - Of a character that is cut, under a class of what is not allowed ([^...]), it leaves the first
//   bytes only when they can become no excluded character at all; here, when they can become an
//   allowed one. So it leaves fewer, and never one that leads nowhere here.
#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "base/utf8.h"
#include "engine/llama/llama_library.h"
#include "exactness/plain_row.h"
#include "grammar/gbnf.h"
#include "grammar/matcher.h"

namespace windrow::exactness {
namespace {

using grammar::Token;

struct FreeSampler {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using OwnedSampler = std::unique_ptr<llama_sampler, FreeSampler>;

class GrammarMasksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto kLibrary = engine::LlamaLibrary::start("").value();
    model_ = std::make_unique<PlainModel>(test_model("qwen3", "f32"));
    std::vector<Token> ends;
    for (Token token = 0; token < llama_vocab_n_tokens(vocabulary()); ++token) {
      bytes_.push_back(piece(token));
      if (llama_vocab_is_eog(vocabulary(), token)) ends.push_back(token);
    }
    ASSERT_FALSE(ends.empty());
    // Tokens that end a text and go on with line breaks, as large vocabularies have them; libllama
    // is asked for their bytes.
    for (const char* bytes :
         {"s\n", "o\n", ".\n", "!\r\n", "\"\n", "0\n\n", ")\n", "c\n", "]\n\n", "}\n"})
      bytes_.emplace_back(bytes);
    tables_ = grammar::TokenTables::make(bytes_, ends);
  }

  const llama_vocab* vocabulary() const { return model_->vocabulary(); }
  bool is_added(Token token) const { return token >= llama_vocab_n_tokens(vocabulary()); }

  // Control tokens have none.
  std::string piece(Token token) const {
    std::string bytes(256, '\0');
    const int32_t length = llama_token_to_piece(vocabulary(), token, bytes.data(),
                                                static_cast<int32_t>(bytes.size()), 0, false);
    EXPECT_GE(length, 0);
    bytes.resize(static_cast<size_t>(std::max(length, 0)));
    return bytes;
  }

  std::vector<bool> left_by_libllama(llama_sampler* sampler) const {
    std::vector<llama_token_data> data;
    for (Token token = 0; !is_added(token); ++token)
      data.push_back({token, 0, 0});
    llama_token_data_array candidates{data.data(), data.size(), -1, false};
    llama_sampler_apply(sampler, &candidates);
    std::vector<bool> left(bytes_.size());
    for (size_t i = 0; i < candidates.size; ++i) {
      const llama_token_data& each = candidates.data[i];
      left[static_cast<size_t>(each.id)] = !std::isinf(each.logit);
    }
    return left;
  }

  // `ours`: it is allowed here.
  bool is_known_difference(const std::string& answer, Token token, bool ours,
                           bool has_negated_class) const {
    const std::string& bytes = bytes_[static_cast<size_t>(token)];
    if (!ours) {
      std::string text = answer + bytes;
      text.resize(text.size() - utf8_incomplete_tail(text));
      return llama_vocab_is_control(vocabulary(), token) || utf8_repair(text) != text;
    }
    return bytes.starts_with('\0') || (has_negated_class && utf8_incomplete_tail(bytes) > 0);
  }

  // Line breaks behind a whole answer end it here; libllama takes none.
  bool is_break_behind_end(grammar::Matcher ours, Token token,
                           const std::vector<bool>& left) const {
    return can_end(left) && ours.accept(token) &&
           ours.bytes_behind_end() == bytes_[static_cast<size_t>(token)].size();
  }

  // Whether an added token may follow, by libllama: it takes all of it, or what stands before its
  // line breaks, or before some of them, and then the end.
  bool may_follow(Token token, const llama_sampler* theirs, std::vector<bool> left) const {
    const std::string& bytes = bytes_[static_cast<size_t>(token)];
    const size_t text_end = bytes.find_last_not_of("\r\n") + 1;
    const OwnedSampler walk(llama_sampler_clone(theirs));
    for (size_t at = 0; at < bytes.size(); ++at) {
      if (at >= text_end && can_end(left)) return true;
      const auto found = std::ranges::find(bytes_, std::string(1, bytes[at]));
      const auto byte = static_cast<size_t>(found - bytes_.begin());
      if (found == bytes_.end() || !left[byte]) return false;
      llama_sampler_accept(walk.get(), static_cast<Token>(byte));
      left = left_by_libllama(walk.get());
    }
    return true;
  }

  bool can_end(const std::vector<bool>& left) const {
    for (Token token = 0; !is_added(token); ++token) {
      if (left[static_cast<size_t>(token)] && llama_vocab_is_eog(vocabulary(), token)) return true;
    }
    return false;
  }

  std::unique_ptr<PlainModel> model_;
  std::vector<std::string> bytes_;
  std::shared_ptr<const grammar::TokenTables> tables_;
};

constexpr const char* kGrammars[] = {
    "root ::= \"yes\" | \"no\" | \"maybe\"",
    "root ::= [a-z]+ (\" \" [a-z]+)* [.!?]",
    "root ::= [A-Za-z_] [A-Za-z0-9_]{2,9} \"=\" (\"-\"? [0-9]{1,4} | \"\\\"\" [^\"]{0,6} \"\\\"\")",
    "root ::= .{3,8}",
    "root ::= [\xC3\xA0-\xC3\xBF]{2} (\"\xE2\x82\xAC\" | \"\\u00df\" | [\\U0001F600-\\U0001F64F])+",
    R"(root ::= expr
expr ::= term ([-+*/] term)*
term ::= [0-9]+ | [(] expr [)]
)",
    "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"",
    "root ::= (\"ab\" | \"a\" | \"b\")* \"!\"",
    "root ::= \"[\" (root (\",\" root)*)? \"]\" | \"x\"{2,3}",
    R"(root ::= item{2,4} # with a comment
item ::= "- " [^\n]+ "\n"
)",
    R"(root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\n" [ \t]{0,20})",
};

TEST_F(GrammarMasksTest, OursAndLibllamasLeaveTheSameTokens) {
  size_t compared = 0;
  size_t differences = 0;
  size_t added_allowed = 0;
  for (const char* text : kGrammars) {
    SCOPED_TRACE(text);
    const bool has_negated_class = std::string_view(text).find("[^") != std::string_view::npos;
    const auto compiled =
        std::make_shared<grammar::CompiledGrammar>(grammar::parse_gbnf(text).value(), tables_);
    for (uint64_t seed = 1; seed <= windrow::testing::rounds(3U, 8U); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const OwnedSampler theirs(llama_sampler_init_grammar(vocabulary(), text, "root"));
      ASSERT_NE(theirs, nullptr);
      grammar::Matcher ours(compiled);
      std::string answer;
      for (int step = 0; step < 40; ++step) {
        const auto mask = ours.mask();
        const std::vector<bool> left = left_by_libllama(theirs.get());
        std::vector<Token> both;
        for (Token token = 0; token < mask->size(); ++token) {
          const bool allowed = mask->allows(token);
          ++compared;
          if (is_added(token)) {
            ASSERT_EQ(allowed, may_follow(token, theirs.get(), left))
                << "behind \"" << answer << "\" \"" << bytes_[static_cast<size_t>(token)] << '"';
            added_allowed += allowed ? 1 : 0;
            continue;
          }
          if (allowed && left[static_cast<size_t>(token)]) both.push_back(token);
          if (allowed == left[static_cast<size_t>(token)]) continue;
          ++differences;
          if (allowed && is_break_behind_end(ours, token, left)) continue;
          ASSERT_TRUE(is_known_difference(answer, token, allowed, has_negated_class))
              << "behind \"" << answer << "\" token " << token << " \""
              << bytes_[static_cast<size_t>(token)] << "\" is " << (allowed ? "" : "not ")
              << "allowed here";
        }
        ASSERT_FALSE(both.empty()) << "behind \"" << answer << '"';
        const Token token = both[random.below(both.size())];
        ASSERT_TRUE(ours.accept(token));
        if (llama_vocab_is_eog(vocabulary(), token)) break;
        llama_sampler_accept(theirs.get(), token);
        answer += bytes_[static_cast<size_t>(token)];
      }
    }
  }
  EXPECT_GT(compared, 100'000U);
  EXPECT_LT(differences, compared / 20);
  EXPECT_GT(added_allowed, 20U);
  RecordProperty("compared", static_cast<int>(compared));
  RecordProperty("differences", static_cast<int>(differences));
}

}  // namespace
}  // namespace windrow::exactness
