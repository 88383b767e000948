#include "grammar/matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/testing/rounds.h"
#include "grammar/gbnf.h"
#include "grammar/testing/random_tokens.h"
#include "grammar/testing/reference_grammar.h"
#include "grammar/testing/simple_grammars.h"

namespace windrow::grammar {
namespace {

using testing::choice_grammar;
using testing::kControl;
using testing::kEnd;
using testing::random_allowed;
using testing::random_grammar;
using testing::random_vocabulary;
using testing::regex_grammar;
using testing::text_pieces;

std::shared_ptr<CompiledGrammar> compile(std::shared_ptr<const Grammar> grammar,
                                         std::shared_ptr<const TokenTables> tables,
                                         const CompiledGrammarOptions& options = {}) {
  return std::make_shared<CompiledGrammar>(std::move(grammar), std::move(tables), options);
}

// Whether the text ends within the token, not before it, and only line breaks follow.
bool ends_within(const Matcher& matcher, const std::string& bytes) {
  for (size_t i = bytes.size(); --i > 0 && (bytes[i] == '\n' || bytes[i] == '\r');) {
    Matcher copy = matcher;
    if (copy.accept_bytes(bytes.substr(0, i)) && copy.can_end()) return true;
  }
  return false;
}

// Each token tried on a copy.
void expect_exact(Matcher& matcher, const std::vector<std::string>& tokens) {
  const std::shared_ptr<const TokenMask> mask = matcher.mask();
  ASSERT_EQ(mask->size(), static_cast<int32_t>(tokens.size()));
  for (Token token = 0; token < mask->size(); ++token) {
    Matcher copy = matcher;
    const std::string& bytes = tokens[static_cast<size_t>(token)];
    bool allowed = token == kEnd       ? matcher.can_end()
                   : token == kControl ? false
                                       : copy.accept_bytes(bytes) || ends_within(matcher, bytes);
    if (!allowed && bytes.find_first_not_of("\r\n") == std::string::npos && mask->allows(token)) {
      EXPECT_TRUE(matcher.can_end());
      EXPECT_GT(matcher.accepted_count(), 0U) << "line breaks end no text that has not begun";
      allowed = true;
    }
    ASSERT_EQ(mask->allows(token), allowed) << "token " << token << " \"" << bytes << '"';
    Matcher other = matcher;
    ASSERT_EQ(other.accept(token), allowed) << "token " << token;
  }
}

// Lexemes that count, search, or let nearly everything pass.
std::vector<std::pair<std::string, std::shared_ptr<const Grammar>>> lexeme_grammars() {
  std::vector<std::pair<std::string, std::shared_ptr<const Grammar>>> grammars;
  for (const std::string_view pattern :
       {".*", "(.*)ab(.*)c", "[^b]+b[^b]+", "[a-c]{3,20}", "[a-z \\[\\]]*", "[^x]{2,12}",
        ".{0,3}|x.*", "(a|b|ab)*(, (a|b|ab)*)*", "[^\\u00e4]*\\u00e4"})
    grammars.emplace_back(pattern, regex_grammar(pattern).value());
  const auto quoted = [&](std::string name, const std::shared_ptr<const ByteDfa>& dfa) {
    GrammarBuilder builder;
    const Part part =
        builder.sequence({builder.text("\""), builder.lexeme(dfa), builder.text("\"")});
    grammars.emplace_back(std::move(name), builder.finish(builder.repeat(part, 1, 2)).value());
  };
  quoted("any string", json_any_string_dfa());
  quoted("length", json_string_dfa(CharDfa::length(2, 8).value()));
  quoted("long", json_string_dfa(CharDfa::length(1, 60).value()));
  const std::string_view keys[] = {"a", "ab", "true", "\xC3\xA4"};
  quoted("other keys",
         json_string_dfa(CharDfa::any_text().without(CharDfa::literals(keys)).value()));
  GrammarBuilder builder;
  const Part counted = builder.sequence(
      {builder.text("\""), builder.repeat(builder.lexeme(json_any_character_dfa()), 2, 50),
       builder.text("\"")});
  const Part root = builder.repeat(builder.sequence({counted, builder.text(",")}), 3, 40);
  grammars.emplace_back("counted strings", builder.finish(root).value());
  return grammars;
}

const std::vector<std::pair<std::string, std::string>>& known_grammars() {
  static const std::vector<std::pair<std::string, std::string>> kGrammars = {
      {"anything", "root ::= .*"},
      {"a line", "root ::= [^\\n]* \"\\n\""},
      {"JSON strings",
       R"(root ::= "[" (s ("," s)*)? "]"
          s ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"")"},
      {"counted", R"(root ::= "\"" [^"\\\x00-\x1F]{2,9} "\"" "," "\"" [^"\\\x00-\x1F]{0,60} "\"")"},
      {"counted, escapes",
       R"(root ::= "\"" c{3,7} "\"" | "[" c{5} "]"
          c ::= [^"\\\x00-\x1F] | "\\" ["n])"},
      {"behind a string more of it", R"(root ::= "\"" [^"\\]{0,5} "ab"* "\"" | .{3} "x" [^"]*)"},
      {"ambiguous", R"(root ::= (. | "a" "a" | ..)* "x")"},
      {"letters",
       "root ::= [a-c]{2,} [^a-c]? root2\nroot2 ::= \"\\u20ac\"* | [\xC3\xA4-\xC3\xB6]+"},
      {"nested", "root ::= \"[\" (root (\",\" root)*)? \"]\" | [ab1]+ | \"true\""},
      {"any key but", R"(root ::= "{" "\"" ([^"\\ab] [^"\\]* | "a" ([^"\\b] [^"\\]*)?) "\"" "}")"},
      {"minimum", R"(root ::= [^"\\]{20,} "\"")"},
      {"names",
       R"(root ::= "{" w a? b? c? ("\"ba\"" w v)? ("\"true\"" ":" v)? d? "}" "\n"?
          a ::= "\"a\"" w ":" v
          b ::= "\"ab\"" w ":" v
          c ::= "\"b" "\"" w ":" v
          d ::= ("\"\"" ":" v)? ("\"c\",\"" "x")?
          w ::= [ \n]{0,3}
          v ::= w ("true" | "1" | "[" root "]" | "\"" [^"\\]* "\"") w ","? w)"},
      {"words",
       R"(root ::= (words | "b\n" | "aa" root | [ ]+ root | "\u00e4")? tail?
          words ::= "a" | "ab" [c]+ | "ba" | "true"
          tail ::= "," ("a" | "b" | "c" | "\u00f6" | [^a-c]*) "1"*)"},
      {"emoji", "root ::= [\\U0001F600-\\U0001F64F]{1,3} [^\\U0001F600]*"}};
  return kGrammars;
}

TEST(MatcherTest, MasksHaveExactlyTheTokensThatCanFollow) {
  std::vector<std::pair<std::string, std::shared_ptr<const Grammar>>> grammars = lexeme_grammars();
  for (const auto& [name, text] : known_grammars())
    grammars.emplace_back(name, parse_gbnf(text).value());
  for (size_t i = 0; i < grammars.size(); ++i) {
    const auto& [name, grammar] = grammars[i];
    SCOPED_TRACE(name);
    for (uint64_t seed = 1; seed <= windrow::testing::rounds(2U, 6U); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed * 100 + i);
      const std::vector<std::string> tokens = random_vocabulary(random, text_pieces());
      const auto tables = TokenTables::make(tokens, {kEnd});
      const auto compiled = compile(grammar, tables);
      for (int walk = 0; walk < 3; ++walk) {
        Matcher matcher(compiled);
        for (int step = 0; step < 25; ++step) {
          ASSERT_NO_FATAL_FAILURE(expect_exact(matcher, tokens));
          const Token token = random_allowed(*matcher.mask(), random);
          ASSERT_NE(token, -1) << "a dead end";
          ASSERT_TRUE(matcher.accept(token));
          if (token == kEnd || matcher.bytes_behind_end() > 0) break;
        }
      }
    }
  }
}

TEST(MatcherTest, MasksOfRandomGrammarsAreExact) {
  int built = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto reference = random_grammar(random);
    const auto grammar = reference.build();
    if (!grammar) continue;
    ++built;
    SCOPED_TRACE(reference.describe());
    const std::vector<std::string> tokens = random_vocabulary(random, {"a", "b", "ab", "c"});
    const auto compiled = compile(*grammar, TokenTables::make(tokens, {kEnd}));
    Matcher matcher(compiled);
    for (int step = 0; step < 8; ++step) {
      ASSERT_NO_FATAL_FAILURE(expect_exact(matcher, tokens));
      const Token token = random_allowed(*matcher.mask(), random);
      ASSERT_NE(token, -1) << "a dead end";
      ASSERT_TRUE(matcher.accept(token));
      if (token == kEnd || matcher.bytes_behind_end() > 0) break;
    }
  }
  EXPECT_GT(built, 150);
}

TEST(MatcherTest, ForksAndRollbacksAreAsIfNothingElseHadBeen) {
  Random random(7);
  const std::vector<std::string> tokens = random_vocabulary(random, text_pieces());
  const auto tables = TokenTables::make(tokens, {kEnd});
  // So little memory that states are dropped all the time.
  const CompiledGrammarOptions small = {.masks_bytes_max = 300, .states_bytes_max = 1};
  for (const auto& [name, text] : known_grammars()) {
    SCOPED_TRACE(name);
    const auto grammar = parse_gbnf(text).value();
    const auto compiled = compile(grammar, tables, small);
    const auto other = compile(grammar, tables);
    struct Row {
      Matcher matcher;
      std::vector<Token> accepted;
    };
    std::vector<Row> rows;
    rows.reserve(8);
    rows.push_back({Matcher(compiled), {}});
    for (int step = 0; step < 300; ++step) {
      Row& row = rows[random.below(rows.size())];
      const uint64_t what = random.below(10);
      if (what == 0 && rows.size() < 8) {
        const Row copy = row;
        rows.push_back(copy);
      } else if (what == 1) {
        const size_t back = random.below(row.accepted.size() + 1);
        row.matcher.rollback(back);
        row.accepted.resize(row.accepted.size() - back);
      } else {
        const Token token = random_allowed(*row.matcher.mask(), random);
        const bool ended = (!row.accepted.empty() && row.accepted.back() == kEnd) ||
                           row.matcher.bytes_behind_end() > 0;
        ASSERT_EQ(token == -1, ended);
        ASSERT_FALSE(row.matcher.accept(kControl));
        if (token == -1) continue;
        ASSERT_TRUE(row.matcher.accept(token));
        row.accepted.push_back(token);
      }
      ASSERT_EQ(row.matcher.accepted_count(), row.accepted.size());
      Matcher replayed(other);
      for (const Token token : row.accepted)
        ASSERT_TRUE(replayed.accept(token));
      ASSERT_EQ(*row.matcher.mask(), *replayed.mask());
      ASSERT_EQ(row.matcher.can_end(), replayed.can_end());
      ASSERT_EQ(row.matcher.must_end(), replayed.must_end());
      ASSERT_EQ(row.matcher.forced_bytes(20), replayed.forced_bytes(20));
    }
  }
}

TEST(MatcherTest, AMaskFoundInPiecesIsTheSame) {
  Random random(11);
  const std::vector<std::string> tokens = random_vocabulary(random, text_pieces());
  const auto tables = TokenTables::make(tokens, {kEnd});
  for (const auto& [name, text] : known_grammars()) {
    SCOPED_TRACE(name);
    const auto grammar = parse_gbnf(text).value();
    const auto small = compile(grammar, tables, {.masks_bytes_max = 1, .states_bytes_max = 1});
    const auto whole = compile(grammar, tables);
    Matcher pieces(small);
    Matcher at_once(whole);
    for (int step = 0; step < 10; ++step) {
      std::shared_ptr<const TokenMask> mask;
      int calls = 0;
      do {
        mask = pieces.mask_within(5);
        ASSERT_LT(++calls, 10'000);
      } while (mask == nullptr);
      ASSERT_EQ(*mask, *at_once.mask());
      const Token token = random_allowed(*mask, random);
      ASSERT_TRUE(pieces.accept(token));
      ASSERT_TRUE(at_once.accept(token));
      if (token == kEnd || at_once.bytes_behind_end() > 0) break;
    }
  }
}

// Models write "}\n" with one token; the line break is no part of the text.
TEST(MatcherTest, ATokenMayEndTheTextAndGoOnWithLineBreaks) {
  const std::vector<std::string> tokens = {"1", "}", "}\n", "}\r\n\n", "\n", "}\nx", "1\n", "\n1"};
  const auto tables = TokenTables::make(tokens, {});
  const auto allowed = [&](Matcher& matcher) {
    std::string list;
    for (Token token = 0; token < std::ssize(tokens); ++token) {
      Matcher fork = matcher;
      EXPECT_EQ(fork.accept(token), matcher.mask()->allows(token)) << token;
      if (matcher.mask()->allows(token)) list += std::to_string(token);
    }
    return list;
  };
  Matcher object(compile(regex_grammar("\\{?1+\\}").value(), tables));
  EXPECT_EQ(allowed(object), "0");
  ASSERT_TRUE(object.accept(0));
  EXPECT_EQ(allowed(object), "0123");
  ASSERT_TRUE(object.accept(3));
  EXPECT_EQ(object.bytes_behind_end(), 3U);
  EXPECT_TRUE(object.can_end() && object.must_end());
  EXPECT_EQ(object.mask()->count(), 0);
  object.rollback(1);
  EXPECT_EQ(object.bytes_behind_end(), 0U);
  ASSERT_TRUE(object.accept(1));
  EXPECT_TRUE(object.must_end());

  // Where the text may go on, a line break ends it like an end token, if there is some text.
  Matcher number(compile(regex_grammar("(21?|1{0,2})").value(), tables));
  EXPECT_EQ(allowed(number), "06");
  ASSERT_TRUE(number.accept(0));
  EXPECT_EQ(allowed(number), "046");
  ASSERT_TRUE(number.accept(4));
  EXPECT_TRUE(number.must_end());
  EXPECT_EQ(number.bytes_behind_end(), 1U);

  // A line break that the grammar has is text.
  Matcher lines(compile(regex_grammar("1(\\n1)*").value(), tables));
  ASSERT_TRUE(lines.accept(0));
  EXPECT_EQ(allowed(lines), "47");
  ASSERT_TRUE(lines.accept(4));
  EXPECT_FALSE(lines.can_end());
  EXPECT_EQ(lines.bytes_behind_end(), 0U);
}

TEST(MatcherTest, EndTokensAreAllowedWhereTheTextCanEnd) {
  const std::vector<std::string> tokens = {"a", "b", "ab", "<end>", ""};
  const auto tables = TokenTables::make(tokens, {3, 4});
  Matcher matcher(compile(choice_grammar(std::vector<std::string>{"ab", "a"}).value(), tables));
  EXPECT_FALSE(matcher.can_end());
  EXPECT_EQ(matcher.mask()->count(), 2);
  EXPECT_FALSE(matcher.accept(3));
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_TRUE(matcher.can_end());
  EXPECT_FALSE(matcher.must_end());
  EXPECT_TRUE(matcher.mask()->allows(1));
  EXPECT_TRUE(matcher.mask()->allows(3));
  EXPECT_TRUE(matcher.mask()->allows(4));
  ASSERT_TRUE(matcher.accept(1));
  EXPECT_TRUE(matcher.must_end());
  EXPECT_EQ(matcher.mask()->count(), 2);
  EXPECT_FALSE(matcher.accept(0));
  ASSERT_TRUE(matcher.accept(4));
  EXPECT_TRUE(matcher.must_end());
  EXPECT_EQ(matcher.mask()->count(), 0);
  EXPECT_FALSE(matcher.accept(3));
  EXPECT_FALSE(matcher.accept_bytes("a"));
  EXPECT_EQ(matcher.accepted_count(), 3U);
  matcher.rollback(1);
  EXPECT_TRUE(matcher.accept(3));
}

TEST(MatcherTest, TokensThatCutCharactersWork) {
  const std::vector<std::string> tokens = {"\xE2", "\x82", "\xAC", "\x82\xAC!", "a\xE2", "\xAC!"};
  const auto tables = TokenTables::make(tokens, {});
  const auto grammar = parse_gbnf("root ::= \"a\"? [\\u2080-\\u20af] \"!\"").value();
  Matcher matcher(compile(grammar, tables));
  EXPECT_TRUE(matcher.mask()->allows(0));
  EXPECT_TRUE(matcher.mask()->allows(4));
  EXPECT_EQ(matcher.mask()->count(), 2);
  ASSERT_TRUE(matcher.accept(4));
  EXPECT_TRUE(matcher.mask()->allows(1));
  EXPECT_TRUE(matcher.mask()->allows(3));
  EXPECT_EQ(matcher.mask()->count(), 2);
  ASSERT_TRUE(matcher.accept(1));
  EXPECT_TRUE(matcher.mask()->allows(2));
  EXPECT_TRUE(matcher.mask()->allows(5));
  ASSERT_TRUE(matcher.accept(5));
  EXPECT_TRUE(matcher.must_end());
}

TEST(MatcherTest, ForcedBytesAreWhatEveryTextGoesOnWith) {
  const auto tables = TokenTables::make(std::vector<std::string>{"a"}, {});
  const auto forced = [&](std::string_view grammar, std::string_view text = "", size_t most = 99) {
    Matcher matcher(compile(parse_gbnf(grammar).value(), tables));
    EXPECT_TRUE(matcher.accept_bytes(text));
    return matcher.forced_bytes(most);
  };
  EXPECT_EQ(forced(R"(root ::= "abc" | "abd")"), "ab");
  EXPECT_EQ(forced(R"(root ::= "ab" | "abd")"), "ab") << "it could end there";
  EXPECT_EQ(forced(R"(root ::= "{\"name\":" [0-9])"), "{\"name\":");
  EXPECT_EQ(forced(R"(root ::= "{\"name\":" [0-9])", "{", 4), "\"nam");
  EXPECT_EQ(forced("root ::= \"a\xC3\xA4\" | \"a\xC3\xB6\""), "a") << "not half a character";
  EXPECT_EQ(forced("root ::= \"a\xC3\xA4\" | \"a\xC3\xB6\"", "a\xC3"), "");
  EXPECT_EQ(forced("root ::= \"a\xC3\xA4\"", "", 2), "a\xC3") << "all that was asked for";
  EXPECT_EQ(forced(R"(root ::= ("a" | "a" "b"?) "c" [de])"), "a");
  EXPECT_EQ(forced(R"(root ::= ("ab" | "a" "b") "c" [de])"), "abc") << "two readings, one text";
  EXPECT_EQ(forced(R"(root ::= [a] [b] {3} "c"*)"), "abbb");
  EXPECT_EQ(forced(R"(root ::= "")"), "");
}

TEST(MatcherTest, StringsOfDifferentLengthsShareMasks) {
  Random random(3);
  const std::vector<std::string> tokens = random_vocabulary(random, text_pieces());
  const auto tables = TokenTables::make(tokens, {kEnd});
  Matcher matcher(
      compile(parse_gbnf(R"(root ::= "\"" [^"\\\x00-\x1F]{0,1000} "\"")").value(), tables));
  ASSERT_TRUE(matcher.accept_bytes("\"abc"));
  const auto first = matcher.mask();
  ASSERT_TRUE(matcher.accept_bytes(std::string(500, 'x')));
  EXPECT_EQ(matcher.mask(), first) << "the same object: it was not found again";
  ASSERT_TRUE(matcher.accept_bytes(std::string(490, 'x')));
  EXPECT_NE(*matcher.mask(), *first) << "too near to the end for the longest tokens";
}

TEST(MatcherTest, MemoryStaysWithinItsLimit) {
  Random random(5);
  const std::vector<std::string> tokens = random_vocabulary(random, text_pieces());
  const auto tables = TokenTables::make(tokens, {kEnd});
  const auto compiled = compile(parse_gbnf("root ::= (. | [a-z]{3,900} \"!\")*").value(), tables,
                                {.masks_bytes_max = 10'000, .states_bytes_max = 300'000});
  const size_t before = compiled->memory_bytes();
  for (int walk = 0; walk < 60; ++walk) {
    Matcher matcher(compiled);
    for (int step = 0; step < 40; ++step) {
      const auto mask = matcher.mask();
      ASSERT_TRUE(matcher.accept(random_allowed(*mask, random))) << step;
      if (matcher.must_end()) break;
    }
    ASSERT_LT(compiled->memory_bytes(), before + 2'000'000);
  }
}

}  // namespace
}  // namespace windrow::grammar
