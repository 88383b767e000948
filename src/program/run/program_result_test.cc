#include "program/run/program_result.h"

#include <gtest/gtest.h>

namespace windrow::program {
namespace {

TEST(ProgramResult, IsOneLineWithTheUsageThatClientsKnow) {
  const std::string body = result_body("sort.lua", {{"answer", "a\nb"}},
                                       {.tokens = {.prompt_tokens = 10,
                                                   .completion_tokens = 5,
                                                   .cached_tokens = 4,
                                                   .reasoning_tokens = 2},
                                        .calls = 3,
                                        .passes = 7,
                                        .wasted_tokens = 1,
                                        .contexts_peak = 9,
                                        .memory_bytes_peak = 1000});
  EXPECT_EQ(body, R"({"object":"program.result","program":"sort.lua","result":{"answer":"a\nb"},)"
                  R"("usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,)"
                  R"("prompt_tokens_details":{"cached_tokens":4},)"
                  R"("completion_tokens_details":{"reasoning_tokens":2}},)"
                  R"("program_usage":{"calls":3,"passes":7,"wasted_tokens":1,"contexts_peak":9,)"
                  R"("memory_bytes_peak":1000}})");
}

TEST(ProgramResult, NumbersAreWrittenAsPeopleWriteThem) {
  EXPECT_NE(result_body("p", -2.84, {}).find(R"("result":-2.84,)"), std::string::npos);
  EXPECT_NE(result_body("p", 0.5, {}).find(R"("result":0.5,)"), std::string::npos);
}

}  // namespace
}  // namespace windrow::program
