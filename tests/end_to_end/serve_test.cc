// `windrow serve` as people run it: its messages, its answers, and what it refuses.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "end_to_end/served.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "http/testing/call_rig.h"
#include "http/testing/raw_client.h"
#include "http/testing/test_certificate.h"
#include "http/url.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

const Words kInstant = {"--model", "sim:instant,answer-tokens=8"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Connections that say nothing use up what it may have open.
TEST(Serve, ALowLimitOfClientsIsSaidAndIdleOnesShutNoneOut) {
  const JobFolder folder;
  Served served(folder, kInstant, "127.0.0.1:0", 64);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_THAT(served.process().errors(), HasSubstr("at most 32 clients"));
  std::list<http::testing::RawClient> idle;
  for (int i = 0; i < 80; ++i)
    idle.emplace_back(served.port());
  EXPECT_EQ(served.get("/health").status, 200);
}

TEST(Serve, AnswersChatsStreamsEmbeddingsAndErrors) {
  const JobFolder folder;
  Served served(folder, kInstant);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_EQ(served.get("/health").status, 200);
  EXPECT_EQ(served.get("/ready").status, 200);

  const HttpReply chat = served.post("/v1/chat/completions", chat_body("hello"));
  ASSERT_EQ(chat.status, 200) << chat.body;
  const json::value answer = json::parse(chat.body);
  const std::string text(answer.at_pointer("/choices/0/message/content").as_string());
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(answer.at_pointer("/choices/0/finish_reason").as_string(), "stop");

  const std::string greedy = R"("temperature":0)";
  const HttpReply whole = served.post("/v1/chat/completions", chat_body("hello", greedy));
  const HttpReply stream = served.post(
      "/v1/chat/completions",
      chat_body("hello", greedy + R"(,"stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_EQ(stream.status, 200) << stream.body;
  EXPECT_THAT(stream.head, HasSubstr("text/event-stream"));
  EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n")) << stream.body;
  std::string said;
  std::string_view rest = stream.body;
  while (rest.starts_with("data: {")) {
    const size_t end = rest.find("\n\n");
    const json::value event = json::parse(rest.substr(6, end - 6));
    if (const auto* choice = event.as_object().at("choices").as_array().if_contains(0)) {
      if (const auto* more = choice->at("delta").as_object().if_contains("content"))
        said += std::string(more->as_string());
    } else {
      EXPECT_GT(event.at_pointer("/usage/completion_tokens").to_number<int>(), 0);
    }
    rest.remove_prefix(end + 2);
  }
  EXPECT_EQ(said, json::parse(whole.body).at_pointer("/choices/0/message/content").as_string());

  const HttpReply vectors =
      served.post("/v1/embeddings", R"({"model":"sim","input":["one","one","two"]})");
  ASSERT_EQ(vectors.status, 200) << vectors.body;
  const json::value list = json::parse(vectors.body).at("data");
  EXPECT_EQ(list.at(0).at("embedding"), list.at(1).at("embedding"));
  EXPECT_NE(list.at(0).at("embedding"), list.at(2).at("embedding"));

  const HttpReply wrong = served.post("/v1/chat/completions", chat_body("x", R"("n":-1)"));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(json::parse(wrong.body).at_pointer("/error/param").as_string(), "n");
  EXPECT_EQ(served.get("/v1/nothing").status, 404);
  EXPECT_EQ(served.get("/v1/chat/completions").status, 405);
  EXPECT_THAT(served.get("/metrics").body, HasSubstr("windrow"));

  served.process().send(SIGTERM);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST(Serve, SeveralModelsAndFurtherNamesOfThem) {
  const JobFolder folder;
  Served served(folder, {"--model", "chat=sim:instant", "--model", "embed=sim:instant",
                         "--model-alias", "gpt-4o=chat"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_THAT(served.get("/v1/models").body, HasSubstr("gpt-4o"));
  const auto ask = [&](std::string_view model) {
    return served
        .post("/v1/completions",
              fmt::format(R"({{"model":"{}","prompt":"a","max_tokens":1}})", model))
        .status;
  };
  EXPECT_EQ(ask("chat"), 200);
  EXPECT_EQ(ask("gpt-4o"), 200);
  EXPECT_EQ(ask("other"), 404);
}

// The tokens of a chat stay cached for its next turn, also while other chats run.
TEST(Serve, TheSecondTurnOfAChatIsNotComputedAgainBesideEightOthers) {
  const JobFolder folder;
  folder.use_model(model_path("llama"));
  Served served(folder, {"--model", "model.gguf", "--ctx", "8192", "--threads", "1"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  std::vector<std::unique_ptr<HttpCall>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<HttpCall>(
        served.port(), "POST", "/v1/completions",
        fmt::format(R"({{"model":"model","prompt":"{} of them","max_tokens":400,)"
                    R"("ignore_eos":true,"stream":true}})",
                    i)));
    ASSERT_TRUE(others.back()->wait_for("data: "));
  }
  const auto turn = [&](const std::string& more) {
    const HttpReply reply = served.post(
        "/v1/chat/completions",
        fmt::format(
            R"({{"model":"model","max_tokens":4,"temperature":0,"messages":[)"
            R"({{"role":"user","content":"the house is by the water and the door is open"}})"
            R"({}]}})",
            more));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body);
  };
  const json::value first = turn("");
  const json::value second = turn(
      fmt::format(R"(,{{"role":"assistant","content":{}}},{{"role":"user","content":"go on"}})",
                  json::serialize(first.at_pointer("/choices/0/message/content"))));
  const auto prompt_tokens = first.at_pointer("/usage/prompt_tokens").to_number<int>();
  const auto cached =
      second.at_pointer("/usage/prompt_tokens_details/cached_tokens").to_number<int>();
  EXPECT_GE(cached, prompt_tokens / 2) << json::serialize(second);
}

TEST(Serve, ARealModelAnswers) {
  const JobFolder folder;
  folder.use_model(model_path("llama"));
  Served served(folder, {"--model", "model.gguf", "--ctx", "500", "--threads", "1"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_TRUE(served.process().wait_for_errors("model.gguf: --ctx 500 was raised to 512 tokens"));
  const HttpReply reply =
      served.post("/v1/completions",
                  R"({"model":"model","prompt":"the house","max_tokens":4,"temperature":0})");
  EXPECT_EQ(reply.status, 200) << reply.body;
}

TEST(Serve, WithAKeyFileRequestsNeedAKey) {
  const JobFolder folder;
  const Ended made = folder.windrow({"keys", "add", "keys.txt", "alice"});
  ASSERT_EQ(made.code, 0) << made;
  const std::string key = made.output.substr(0, made.output.find('\n'));
  EXPECT_THAT(folder.read("keys.txt"), Not(HasSubstr(key)));
  Served served(folder, with(kInstant, {"--api-keys", "keys.txt"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const std::string body = chat_body("hello");
  EXPECT_EQ(served.post("/v1/chat/completions", body).status, 401);
  EXPECT_EQ(served.post("/v1/chat/completions", body, key + "x").status, 401);
  EXPECT_EQ(served.post("/v1/chat/completions", body, key).status, 200);
  EXPECT_EQ(served.get("/health").status, 200);

  // Another key, which is valid as soon as the server has read its keys again (SIGHUP).
  const Ended more = folder.windrow({"keys", "add", "keys.txt", "bob"});
  const std::string second = more.output.substr(0, more.output.find('\n'));
  served.process().send(SIGHUP);
  ASSERT_TRUE(served.process().wait_for_errors("its keys are valid from now on"));
  EXPECT_EQ(served.post("/v1/chat/completions", body, second).status, 200);
  EXPECT_EQ(served.post("/v1/chat/completions", body, key).status, 200);

  // A file that is spoilt opens nothing.
  folder.write("keys.txt", "nonsense\n");
  served.process().send(SIGHUP);
  ASSERT_TRUE(served.process().wait_for_errors("the earlier keys stay valid"));
  EXPECT_EQ(served.post("/v1/chat/completions", body, key).status, 200);
  EXPECT_EQ(served.post("/v1/chat/completions", body).status, 401);
}

TEST(Serve, LogsTheKeyOfARequestAndNotItsText) {
  const JobFolder folder;
  Served served(folder, with(kInstant, {"--log", "log.jsonl"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_EQ(served.post("/v1/chat/completions", chat_body("a secret of mine")).status, 200);
  ASSERT_TRUE(served.process().wait_until([&] { return folder.size_of("log.jsonl") > 0; }));
  EXPECT_THAT(folder.read("log.jsonl"), HasSubstr("/v1/chat/completions"));
  EXPECT_THAT(folder.read("log.jsonl"), Not(HasSubstr("secret")));
}

TEST(Serve, SettingsThatCannotBeAreRefusedAtOnce) {
  const JobFolder folder;
  const auto refused = [&](const Words& words) {
    Words all = {"serve"};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = folder.windrow(all);
    EXPECT_EQ(ended.code, 2) << ended;
    return ended.errors;
  };
  EXPECT_THAT(refused({"--listen", "127.0.0.1:0"}), HasSubstr("add --model"));
  EXPECT_THAT(refused(with(kInstant, {"--listen", "0.0.0.0:0"})), HasSubstr("windrow keys add"));
  EXPECT_THAT(refused(with(kInstant, {"--listen", "example"})), HasSubstr("HOST:PORT"));
  EXPECT_THAT(refused(with(kInstant, {"--listen", "300.1.1.1:5"})), HasSubstr("300.1.1.1"));
  EXPECT_THAT(refused(with(kInstant, {"--tls-cert", "c.pem"})), HasSubstr("--tls-key"));
  EXPECT_THAT(refused(with(kInstant, {"--api-keys", "none.txt"})), HasSubstr("none.txt"));
  EXPECT_THAT(refused({"--model", "none.gguf"}), HasSubstr("none.gguf"));
  EXPECT_THAT(refused({"--model", "sim:speed=1"}), HasSubstr("no \"speed\""));
  EXPECT_THAT(refused(with(kInstant, {"--model-alias", "a=b"})),
              HasSubstr("no model has the name b"));
  EXPECT_THAT(refused(with(kInstant, {"--cors-origin", "example"})), HasSubstr("--cors-origin"));
}

TEST(Serve, APortThatIsTakenIsNamed) {
  const JobFolder folder;
  Served first(folder, kInstant);
  ASSERT_TRUE(first.wait_until_ready());
  const std::string listen = fmt::format("127.0.0.1:{}", first.port());
  const Ended second = folder.windrow(with({"serve", "--listen", listen}, kInstant));
  EXPECT_EQ(second.code, 2) << second;
  EXPECT_THAT(second.errors, HasSubstr(fmt::format("{}", first.port())));
}

TEST(Serve, OneServerHasADataFolder) {
  const JobFolder folder;
  const Words words = with(kInstant, {"--data-dir", "data"});
  {
    Served first(folder, words);
    ASSERT_TRUE(first.wait_until_ready());
    const Ended second = folder.windrow(with({"serve", "--listen", "127.0.0.1:0"}, words));
    EXPECT_EQ(second.code, 2) << second;
    EXPECT_THAT(second.errors, HasSubstr("--data-dir"));
    // A killed server leaves nothing behind that the next one stumbles over.
    first.process().send(SIGKILL);
    EXPECT_EQ(first.process().wait().signal, SIGKILL);
  }
  Served next(folder, words);
  EXPECT_TRUE(next.wait_until_ready());
}

TEST(Serve, AModelThatCannotBeLoadedEndsIt) {
  const JobFolder folder;
  folder.write("model.gguf", "GGUF and then nothing that makes sense");
  const Ended ended = folder.windrow({"serve", "--listen", "127.0.0.1:0", "--model", "model.gguf"});
  EXPECT_TRUE(ended.code == 2 || ended.code == 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("model.gguf"));
}

TEST(Serve, ItsPortIsThereWhileModelsAreLoaded) {
  // A server elsewhere that accepts a connection and says nothing: meanwhile there is no model that
  // could answer.
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(silent, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(silent, 16), 0);
  ASSERT_EQ(getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const JobFolder folder;
  Served served(folder,
                {"--upstream", fmt::format("http://127.0.0.1:{}/v1", ntohs(address.sin_port))});
  EXPECT_EQ(served.get("/health").status, 200);
  EXPECT_EQ(served.get("/ready").status, 503);
  EXPECT_EQ(served.post("/v1/chat/completions", chat_body("hello")).status, 503);
  served.process().send(SIGTERM);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("stopped before it was ready"));
  close(silent);
}

TEST(Serve, SpeaksTlsWithClientsThatTrustIt) {
  const JobFolder folder;
  const http::testing::TestCertificate certificate = http::testing::make_certificate({"127.0.0.1"});
  folder.write("cert.pem", certificate.certificate_pem);
  folder.write("key.pem", certificate.key_pem);
  Served served(folder, with(kInstant, {"--tls-cert", "cert.pem", "--tls-key", "key.pem"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_THAT(served.process().errors(), HasSubstr("listening on https://127.0.0.1:"));

  const SystemClock clock;
  http::Loop loop(clock);
  const auto client = std::make_unique<http::CurlClient>(
      loop, http::ClientOptions{.ca_file = folder.path("cert.pem")});
  const std::string url = fmt::format("https://127.0.0.1:{}/v1/chat/completions", served.port());
  const http::ClientReply reply = http::testing::reply_of(http::testing::call(
      *client, http::testing::post_to(*http::parse_url(url), chat_body("hello"))));
  EXPECT_EQ(reply.head.status, 200) << reply.body;
  EXPECT_EQ(served.get("/health").status, 400) << "plain HTTP is told so";

  // Another pair, of which the certificate comes first.
  const http::testing::TestCertificate renewed = http::testing::make_certificate({"127.0.0.1"});
  folder.write("cert.pem", renewed.certificate_pem);
  served.process().send(SIGHUP);
  ASSERT_TRUE(served.process().wait_for_errors("new connections get the earlier certificate"));
  folder.write("key.pem", renewed.key_pem);
  served.process().send(SIGHUP);
  ASSERT_TRUE(served.process().wait_for_errors("cert.pem was read again"));
  const auto again = std::make_unique<http::CurlClient>(
      loop, http::ClientOptions{.ca_file = folder.path("cert.pem")});
  const http::ClientReply renewed_reply = http::testing::reply_of(
      http::testing::call(*again, http::testing::post_to(*http::parse_url(url), chat_body("hi"))));
  EXPECT_EQ(renewed_reply.head.status, 200) << renewed_reply.body;

  folder.write("other.pem", http::testing::make_certificate({"127.0.0.1"}).key_pem);
  const Ended misfit = folder.windrow(
      with({"serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "other.pem"},
           kInstant));
  EXPECT_EQ(misfit.code, 2) << misfit;
}

TEST(Serve, RunTakesASimulatedModelToo) {
  const JobFolder folder;
  folder.write("requests.jsonl",
               chat_line("a", "hello") + embedding_line("b", "hello") +
                   chat_line("c", "an object",
                             {{"response_format", json::object{{"type", "json_object"}}},
                              {"max_tokens", 300}}));
  const Ended ended = folder.windrow(
      {"run", "requests.jsonl", "-o", "results.jsonl", "--model", "sim:instant,answer-tokens=8"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(read_log(folder, "results.jsonl").size(), 3U);
  const Ended dry = folder.windrow({"run", "requests.jsonl", "-o", "other.jsonl", "--dry-run",
                                    "--model", "sim:instant,answer-tokens=8"});
  EXPECT_EQ(dry.code, 0) << dry;
  const Ended changed = folder.windrow(
      {"run", "requests.jsonl", "-o", "results.jsonl", "--model", "sim:instant,seed=2"});
  EXPECT_EQ(changed.code, 2) << changed;
  EXPECT_EQ(folder.windrow({"inspect", "sim:"}).code, 0);
}

}  // namespace
}  // namespace windrow::end_to_end
