// Matchers of one grammar in several threads. ./test also runs this under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "grammar/gbnf.h"
#include "grammar/matcher.h"
#include "grammar/testing/random_tokens.h"

namespace windrow::grammar {
namespace {

using testing::kEnd;
using testing::random_allowed;

// So little memory that masks and states are dropped and made again all the time.
TEST(MatcherThreads, ShareAGrammar) {
  Random random(9);
  const auto tables =
      TokenTables::make(testing::random_vocabulary(random, testing::text_pieces()), {kEnd});
  const auto grammar = parse_gbnf(R"(root ::= "[" (s ("," s)*)? "]"
      s ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"")")
                           .value();
  const auto shared = std::make_shared<CompiledGrammar>(
      grammar, tables, CompiledGrammarOptions{.masks_bytes_max = 2000, .states_bytes_max = 1});
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> wrong = 0;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Random own(thread);
      const auto alone = std::make_shared<CompiledGrammar>(grammar, tables);
      for (int walk = 0; walk < 10; ++walk) {
        Matcher matcher(shared);
        Matcher expected(alone);
        for (int step = 0; step < 30; ++step) {
          const auto mask = own.chance(0.5) ? matcher.mask() : matcher.mask_within(3);
          if (mask == nullptr) continue;
          wrong += *mask != *expected.mask() ? 1 : 0;
          const Token token = random_allowed(*mask, own);
          if (token == -1) break;
          Matcher fork = matcher;
          wrong += fork.accept(token) ? 0 : 1;
          wrong += matcher.accept(token) && expected.accept(token) ? 0 : 1;
          wrong += matcher.forced_bytes(9) != expected.forced_bytes(9) ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace windrow::grammar
