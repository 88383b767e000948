// A server in which memory ends, or anything else goes wrong, while a body is read or an answer
// written: that request fails, and the server goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/testing/server_rig.h"

namespace {

enum class Trouble : uint8_t { kNone, kNoMemory, kTooLong };

// Of this thread: what comes of wanting many bytes at once.
thread_local Trouble trouble = Trouble::kNone;
constexpr size_t kManyBytes = size_t{1} << 20;

void* allocate(std::size_t bytes) {
  if (bytes >= kManyBytes && trouble == Trouble::kNoMemory) throw std::bad_alloc();
  if (bytes >= kManyBytes && trouble == Trouble::kTooLong) throw std::length_error("too long");
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace windrow::api {
namespace {

using http::testing::RawClient;
using testing::get;
using testing::kChat;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

constexpr const char* kChatPath = "/v1/chat/completions";

// A server whose only worker has this trouble from its first request on.
class CallMemoryTest : public ::testing::TestWithParam<Trouble> {
 protected:
  CallMemoryTest() {
    rig_.load();
    set_trouble(GetParam());
  }

  // Of the worker, from now on.
  void set_trouble(Trouble which) {
    rig_.backend.before_submit = [which] { trouble = which; };
    answer_one();
    rig_.backend.before_submit = [] {};
  }

  // The server is well.
  void answer_one() {
    RawClient client(rig_.server->port());
    client.send(post(kChatPath, kChat));
    rig_.backend.wait_for(++asked_);
    rig_.backend.end(said("fine"));
    EXPECT_EQ(read_reply(client).status, 200);
  }

  ServerRig rig_{{.worker_threads = 1}};
  size_t asked_ = 0;
};

TEST_P(CallMemoryTest, WhileABodyIsRead) {
  const std::string body =
      R"({"messages":[{"role":"user","content":")" + std::string(4 * kManyBytes, 'x') + "\"}]}";
  const Reply reply = rig_.ask(post(kChatPath, body));
  if (GetParam() == Trouble::kNoMemory) {
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.error().at("code"), "request_too_large");
  } else {
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.error().at("code"), "internal_error");
  }
  answer_one();
}

TEST_P(CallMemoryTest, WhileAnAnswerIsWritten) {
  RawClient client(rig_.server->port());
  client.send(post("/v1/embeddings", R"({"input":"a"})"));
  rig_.backend.wait_for(++asked_);
  rig_.backend.end(llm::Answer{.embeddings = {std::vector<float>(1'000'000, 0.25F)}});
  const Reply reply = read_reply(client);
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.error().at("code"),
            GetParam() == Trouble::kNoMemory ? "out_of_memory" : "internal_error");
  answer_one();
}

TEST_P(CallMemoryTest, WhileAPageIsMade) {
  set_trouble(Trouble::kNone);
  RawClient client(rig_.server->port());
  client.send(post("/v1/responses", R"({"input":")" + std::string(4 * kManyBytes, 'x') + "\"}"));
  rig_.backend.wait_for(++asked_);
  rig_.backend.end(said("kept"));
  const Reply kept = read_reply(client);
  ASSERT_EQ(kept.status, 200) << kept.body;
  const std::string items =
      fmt::format("/v1/responses/{}/input_items", kept.json().at("id").as_string().c_str());
  EXPECT_EQ(rig_.ask(get(items)).status, 200);
  set_trouble(GetParam());
  const Reply reply = rig_.ask(get(items));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.error().at("code"),
            GetParam() == Trouble::kNoMemory ? "out_of_memory" : "internal_error");
  answer_one();
}

INSTANTIATE_TEST_SUITE_P(Troubles, CallMemoryTest,
                         ::testing::Values(Trouble::kNoMemory, Trouble::kTooLong));

}  // namespace
}  // namespace windrow::api
