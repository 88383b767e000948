#include "engine/llama/abort_guard.h"

#include <ggml.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace windrow::engine {
namespace {

using ::testing::HasSubstr;

const std::string kPath = "/models/m.gguf";

TEST(AbortGuard, TurnsAnAbortIntoWhatLibggmlSaid) {
  const AbortWatch watch;
  bool went_on = false;
  const auto said = guard_against_abort(kPath, [&] {
    ggml_abort("a.c", 7, "the value is %d", 5);
    went_on = true;
  });
  ASSERT_TRUE(said.has_value());
  EXPECT_THAT(*said, HasSubstr("the value is 5"));
  EXPECT_FALSE(went_on);
  EXPECT_EQ(guard_against_abort(kPath, [] {}), std::nullopt) << "it is as if nothing had been";
}

TEST(AbortGuard, OneThatLibllamaCatchesItselfIsKnownToo) {
  const AbortWatch watch;
  const auto said = guard_against_abort(kPath, [&] {
    try {
      ggml_abort("a.c", 7, "no");
    } catch (const std::exception&) {
    }
  });
  ASSERT_TRUE(said.has_value());
  EXPECT_THAT(*said, HasSubstr("no"));
}

TEST(AbortGuard, OtherExceptionsPass) {
  const AbortWatch watch;
  EXPECT_THROW(guard_against_abort(kPath, [] { throw std::out_of_range("x"); }), std::out_of_range);
}

TEST(AbortGuard, TheErrorSaysWhatWasDoneAndWhatToDo) {
  const Error error = abort_error("load this model", "a.c:7: GGML_ASSERT(x) failed\n").in(kPath);
  EXPECT_EQ(error.kind, ErrorKind::kInvalid);
  EXPECT_THAT(error.message,
              ::testing::AllOf(
                  ::testing::StartsWith("/models/m.gguf: libllama cannot load this model: a.c:7"),
                  ::testing::EndsWith("get it again, or convert it again")));
}

void abort_unguarded() {
  const AbortWatch watch;
  const ModelInUse in_use(kPath);
  ggml_abort("a.c", 7, "the value is %d", 5);
}

TEST(AbortGuard, OutsideOneTheModelIsNamedBeforeTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(abort_unguarded(), ::testing::KilledBySignal(SIGABRT),
              "while it computed with /models/m.gguf: .*the value is 5.*get it again");
}

void lose_a_worker() {
  const AbortWatch watch;
  watch.add_worker("10.0.0.2:50052");
  watch.add_worker("10.0.0.3:50052");
  guard_against_abort(kPath, [] {
    ggml_abort("ggml-rpc.cpp", 7, "Remote RPC server crashed or returned malformed response");
  });
}

TEST(AbortGuard, ALostWorkerEndsTheProcessAndIsNoFaultOfTheModel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose_a_worker(), ::testing::ExitedWithCode(3),
              "windrow: an RPC worker ended.*workers: 10.0.0.2:50052, 10.0.0.3:50052.*run the "
              "same command");
}

TEST(AbortGuard, AWorkerThatDoesNotAnswerAtFirstIsNoEndOfTheProcess) {
  const AbortWatch watch;
  const auto said = guard_connection(
      [] { ggml_abort("ggml-rpc.cpp", 7, "Failed to connect to 10.0.0.2:50052"); });
  ASSERT_TRUE(said.has_value());
  EXPECT_THAT(*said, HasSubstr("Failed to connect to 10.0.0.2:50052"));
}

}  // namespace
}  // namespace windrow::engine
