// The bodies of calls over real sockets: what is ignored and named, decompression, and the limits
// of size and memory. Their meaning is in call_reader_test.cc.
#include "api/calls/call.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/calls/admission.h"
#include "api/storage/storage_calls.h"
#include "api/testing/call_log.h"
#include "api/testing/server_rig.h"
#include "base/testing/eventually.h"

namespace windrow::api {
namespace {

using http::testing::RawClient;
using testing::bytes_inside;
using testing::CallLog;
using ::testing::Ge;
using testing::kChat;
using testing::kChatPath;
using testing::post;
using testing::read_reply;
using testing::Reply;
using testing::said;
using testing::ServerRig;

TEST(CallBody, BiasesOfTokensOutsideTheVocabularyAreCountedInAHeader) {
  ServerRig rig;
  rig.registry.add({.name = "m",
                    .dispatcher = &rig.dispatcher,
                    .endpoints = testing::kAllEndpoints,
                    .vocabulary_size = 100},
                   true);
  rig.registry.set_state(ServeState::kReady);
  RawClient client(rig.server->port());
  const auto ignored = [&](std::string_view more) {
    static size_t count = 0;
    client.send(post(kChatPath,
                     R"({"messages":[{"role":"user","content":"hi"}])" + std::string(more) + "}"));
    rig.backend.wait_for(++count);
    rig.backend.end(said("a"));
    const Reply reply = read_reply(client);
    EXPECT_EQ(reply.status, 200);
    return reply.header("X-Windrow-Ignored-Tokens");
  };
  EXPECT_EQ(ignored(R"(,"logit_bias":{"7":5,"64":-100})"), "");
  EXPECT_EQ(ignored(R"(,"logit_bias":{"7":5,"6432":-100,"2753":-100})"), "2");
  EXPECT_EQ(ignored(R"(,"logit_bias":{"6432":-100},"stream":true)"), "1");
}

TEST(CallBody, IgnoredFieldsAreNamedInAHeader) {
  ServerRig rig({.unknown_fields = llm::UnknownFields::kIgnore});
  rig.load();
  size_t count = 0;
  const auto ignored = [&](std::string_view path, std::string_view body) {
    RawClient client(rig.server->port());
    client.send(post(path, body));
    rig.backend.wait_for(++count);
    rig.backend.end(said("a"));
    const Reply reply = read_reply(client);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.header("X-Windrow-Ignored-Fields");
  };
  EXPECT_EQ(ignored(kChatPath, kChat), "");
  EXPECT_EQ(ignored(kChatPath, R"({"tone":1,"messages":[{"role":"user","content":"hi"}],"x":null,
                                  "a b\r\nEvil: 1":{}})"),
            "tone, a%20b%0D%0AEvil%3A%201");
  EXPECT_EQ(ignored(kChatPath, R"({"messages":[{"role":"user","content":"hi"}],"stream":true,
                                  "tone":1})"),
            "tone");
  EXPECT_EQ(ignored("/v1/responses", R"({"input":"hi","tone":1})"), "tone");
  EXPECT_EQ(ignored("/v1/messages", R"({"max_tokens":1,"tone":1,
                                       "messages":[{"role":"user","content":"hi"}]})"),
            "tone");
  std::string many;
  for (int i = 0; i < 500; ++i)
    many += fmt::format(R"(,"unknown{}":1)", i);
  const std::string named =
      ignored(kChatPath, R"({"messages":[{"role":"user","content":"hi"}])" + many + "}");
  EXPECT_TRUE(named.starts_with("unknown0, unknown1, ")) << named;
  EXPECT_TRUE(named.ends_with(", ...")) << named;
  EXPECT_LT(named.size(), 1100U);

  // Known fields that are not supported stay refused, and so do unknown members inside of fields.
  for (const std::string_view body :
       {R"({"messages":[{"role":"user","content":"hi"}],"functions":[{}]})",
        R"({"messages":[{"role":"user","content":"hi","tone":1}]})"}) {
    const Reply refused = rig.ask(post(kChatPath, body));
    EXPECT_EQ(refused.status, 400) << body;
    EXPECT_EQ(refused.error().at("code"), "unsupported_parameter") << body;
  }
}

// gzip of {"messages":[{"role":"user","content":"hi"}]}, and of the same with 5,000 times x.
constexpr std::string_view kPackedChat(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xAB\x56\xCA\x4D\x2D\x2E\x4E\x4C\x4F\x2D"
    "\x56\xB2\x8A\xAE\x56\x2A\xCA\xCF\x49\x55\xB2\x52\x2A\x2D\x4E\x2D\x52\xD2\x51\x4A"
    "\xCE\xCF\x2B\x49\xCD\x2B\x01\x0A\x64\x64\x2A\xD5\xC6\xD6\x02\x00\xA8\x46\x04\xDA"
    "\x2D\x00\x00\x00",
    64);
constexpr std::string_view kPackedLongChat(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xED\xC8\xB1\x09\x80\x30\x14\x45\xD1\x5D"
    "\x5E\xED\x04\x59\x45\x2C\x44\x1E\x36\x9A\x40\x7E\x02\x42\xC8\xEE\xBA\x84\xDD\x3D"
    "\xE5\x19\xBA\x1D\xB1\x9F\x0E\xA5\x75\xA8\x96\xCB\x4A\xEA\xE1\xAA\x45\x47\xC9\xCD"
    "\xB9\x7D\xF1\x00\x00\x00\x00\x00\x00\x00\xF8\x9D\xE6\x36\x5F\xC2\x27\xEF\x33\xB3"
    "\x13\x00\x00",
    83);

TEST(CallBody, ABodyMayComePackedByGzip) {
  CallLog log;
  ApiOptions options = log.options();
  options.log_prompts = true;
  options.http.request.body_bytes_max = 4000;
  options.parts = {storage_part({})};  // for /v1/batches
  ServerRig rig(std::move(options));
  rig.load();
  const std::string gzip = "Content-Encoding: gzip\r\n";
  RawClient client(rig.server->port());
  for (size_t count = 1; count <= 2; ++count) {
    client.send(count == 1 ? post(kChatPath, kPackedChat, gzip) : post(kChatPath, kChat));
    EXPECT_EQ(rig.backend.wait_for(count).chat.messages.at(0).at("content"), "hi");
    rig.backend.end(said("a"));
    EXPECT_EQ(read_reply(client).status, 200);
  }

  const Reply bomb = rig.ask(post(kChatPath, kPackedLongChat, gzip));
  EXPECT_EQ(bomb.status, 413);
  EXPECT_EQ(bomb.error().at("code"), "request_too_large");
  EXPECT_EQ(bomb.error().at("message"),
            "the body cannot be decompressed as its Content-Encoding says: it unpacks to more than "
            "4000 bytes");
  const Reply damaged = rig.ask(post(kChatPath, kPackedChat.substr(0, 40), gzip));
  EXPECT_EQ(damaged.status, 400);
  EXPECT_EQ(damaged.error().at("code"), "bad_request");
  const Reply other = rig.ask(post(kChatPath, kPackedChat, "Content-Encoding: br\r\n"));
  EXPECT_EQ(other.status, 415);
  EXPECT_EQ(other.error().at("code"), "unsupported_encoding");
  EXPECT_EQ(rig.ask(post("/v1/batches", kPackedChat, gzip)).status, 415);
  rig.server->stop(std::chrono::seconds(30));
  EXPECT_EQ(log.calls().at(0).at("body"), R"({"messages":[{"role":"user","content":"hi"}]})");
}

TEST(CallBody, ABodyOfTooManyValuesIsRefusedUnread) {
  ServerRig rig;
  rig.load();
  std::string body = R"({"messages":[)";
  while (body.size() < 7'000'000)
    body += "[],";
  const Reply refused = rig.ask(post(kChatPath, body + "[]]}"));
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.error().at("code"), "request_too_large");
  const std::string message(refused.error().at("message").as_string());
  EXPECT_NE(message.find("at most 2,000,000 are accepted"), std::string::npos) << message;
}

// The memory of a parsed body counts in BodyMemoryBudget.
TEST(CallBody, ParsedBodiesCountInTheMemoryBudget) {
  ServerRig rig({.bytes_inside_max = 400'000});
  rig.load();
  RawClient first(rig.server->port());
  first.send(post(kChatPath, kChat));
  rig.backend.wait_for(1);
  std::string body = R"({"prompt":[1)";
  for (int i = 0; i < 10'000; ++i)
    body += ",1";
  const Reply refused = rig.ask(post("/v1/completions", body + "]}"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.error().at("code"), "server_overloaded");
  rig.backend.end(said("a"));
  EXPECT_EQ(read_reply(first).status, 200);
  // A single body is always accepted, and releases its memory.
  for (size_t i = 2; i < 4; ++i) {
    first.send(post("/v1/completions", body + "]}"));
    EXPECT_EQ(rig.backend.wait_for(i).inputs.at(0).tokens.size(), 10'001U);
    rig.backend.end(said("a"));
    EXPECT_EQ(read_reply(first).status, 200);
  }
  windrow::testing::eventually([&] { return bytes_inside(rig); }, 0);
}

// Every other body has megabytes to be read; all keep their order.
TEST(CallBody, ALaneIsInTheOrderOfArrival) {
  ServerRig rig({.worker_threads = 4});
  rig.load();
  std::string long_user;
  long_user.resize(16'000'000, 'x');
  const std::string long_body =
      R"({"user":")" + long_user + R"(","messages":[{"role":"user","content":")";
  std::vector<std::unique_ptr<RawClient>> clients;
  int64_t sent = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string begin = i % 2 == 0 ? long_body : R"({"messages":[{"role":"user","content":")";
    const std::string body = begin + std::to_string(i) + "\"}]}";
    clients.push_back(std::make_unique<RawClient>(rig.server->port()));
    clients.back()->send(post(kChatPath, body, "X-Windrow-Lane: a\r\n"));
    sent += static_cast<int64_t>(body.size() + BodyMemoryBudget::kRequestBytes);
    windrow::testing::eventually([&] { return bytes_inside(rig); }, Ge(sent));
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    const llm::Request request = rig.backend.wait_for(i + 1);
    EXPECT_EQ(request.chat.messages.at(0).at("content").as_string(), std::to_string(i));
    rig.backend.end(said("a"));
    EXPECT_EQ(read_reply(*clients[i]).status, 200);
  }
}

}  // namespace
}  // namespace windrow::api
