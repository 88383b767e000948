// A server that good clients and bad ones use at the same time: every answer is the right one,
// memory does not grow, nothing is left over, and SIGTERM lets what runs end.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/testing/rounds.h"
#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "http/curl_client.h"
#include "http/loop.h"
#include "load/good_client.h"
#include "load/traffic.h"

namespace windrow::load {
namespace {

using end_to_end::Ended;
using end_to_end::JobFolder;
using end_to_end::model_path;
using end_to_end::Process;
using end_to_end::Words;

int64_t from_environment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

int64_t resident_kb(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

// A served folder, and a client for it.
class Served {
 public:
  explicit Served(const Words& words) : process_(command(words)) {
    started_ = process_.wait_until([&] { return is_ready(); });
  }

  bool started() const { return started_; }
  Process& process() { return process_; }
  uint16_t port() const { return port_; }
  http::Client& client() { return *client_; }
  std::string url(std::string_view path) const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }

  // Does the work while the output of the server is read.
  bool beside(const std::function<void()>& work) {
    std::future<void> done = std::async(std::launch::async, work);
    return process_.wait_until(
        [&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  }

 private:
  end_to_end::Command command(const Words& words) const {
    Words all = {"serve", "--listen", "127.0.0.1:0", "--json", "--log", "none"};
    all.insert(all.end(), words.begin(), words.end());
    end_to_end::Command command = folder_.command(all);
    // Freed memory that AddressSanitizer keeps would look like a leak.
    command.variables["ASAN_OPTIONS"] = "quarantine_size_mb=4:malloc_context_size=6";
    return command;
  }

  bool is_ready() {
    const std::string& said = process_.output();
    const size_t at = said.find("http://127.0.0.1:");
    if (at == std::string::npos || said.find("\"ready\"") == std::string::npos) return false;
    const char* begin = said.data() + at + std::string_view("http://127.0.0.1:").size();
    std::from_chars(begin, said.data() + said.size(), port_);
    return true;
  }

  JobFolder folder_;
  SystemClock clock_;
  http::Loop loop_{clock_};
  std::unique_ptr<http::Client> client_ =
      std::make_unique<http::CurlClient>(loop_, http::ClientOptions{});
  Process process_;
  bool started_ = false;
  uint16_t port_ = 0;
};

std::string chat_body(std::string_view content, int tokens, std::string_view more = "") {
  return fmt::format(
      R"({{"model":"chat","messages":[{{"role":"user","content":"{}"}}],"max_tokens":{},)"
      R"("temperature":0{}}})",
      content, tokens, more);
}

Question chat(std::string_view content, int tokens, const std::string& more = "") {
  Question question;
  question.body = chat_body(content, tokens, more);
  question.stream_body = chat_body(content, tokens, more + R"(,"stream":true)");
  return question;
}

std::vector<Question> questions() {
  std::vector<Question> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(chat(fmt::format("the house of {}", i), 4 + 6 * i));
  all.push_back(chat("an object", 200,
                     R"(,"response_format":{"type":"json_schema","json_schema":{"name":"a",)"
                     R"("schema":{"type":"object","properties":{"n":{"type":"integer","minimum":0,)"
                     R"("maximum":9},"t":{"type":"string","maxLength":8}},"required":["n","t"],)"
                     R"("additionalProperties":false}}})"));
  all.push_back(chat("true or false", 1, R"(,"logprobs":true,"top_logprobs":2)"));
  Question embedding;
  embedding.path = "/v1/embeddings";
  embedding.body = R"({"model":"embed","input":["a house","of the people"]})";
  all.push_back(embedding);
  // A request that cannot be answered fails alone: one with a text that the model does not take,
  // and one with a wrong field.
  Question long_text;
  long_text.path = "/v1/embeddings";
  long_text.body = fmt::format(R"({{"model":"embed","input":"{}"}})", std::string(60'000, 'a'));
  long_text.status = 400;
  all.push_back(long_text);
  Question wrong = chat("x", 4, R"(,"temprature":1)");
  wrong.stream_body.clear();
  wrong.status = 400;
  all.push_back(wrong);
  return all;
}

// Each alone, one after the other: what is answered then is right.
void ask_alone(Served& served, std::vector<Question>& all) {
  for (Question& question : all) {
    const Reply reply = ask(served.client(), served.url(question.path), question.body);
    EXPECT_EQ(reply.status, question.status) << reply.why << reply.body;
    question.answer = gist(question, reply.body);
  }
}

int64_t live_requests(Served& served) {
  const Reply reply = ask(served.client(), served.url("/v1/windrow/requests"), "");
  const boost::json::value value = boost::json::parse(reply.body);
  return static_cast<int64_t>(value.at("data").as_array().size());
}

TEST(Load, MixedTrafficSoak) {
  const auto seed = static_cast<uint64_t>(from_environment("WINDROW_LOAD_SEED", 1));
  const int64_t usual_s = windrow::testing::rounds(20, 600);
  const std::chrono::seconds time(from_environment("WINDROW_LOAD_SECONDS", usual_s));
  SCOPED_TRACE(fmt::format("WINDROW_LOAD_SEED={}", seed));
  Served served({"--model", "chat=" + model_path("llama"), "--model", "embed=" + model_path("bert"),
                 "--kv-type", "f32", "--flash-attn", "off", "--max-body-mb", "8", "--grace", "60"});
  ASSERT_TRUE(served.started()) << served.process().wait();
  std::vector<Question> all = questions();
  Findings findings;
  int64_t warm_kb = 0;
  ASSERT_TRUE(served.beside([&] {
    ask_alone(served, all);
    run_traffic(served.client(), all, {.port = served.port(), .seed = seed, .time = time / 3},
                findings);
    warm_kb = resident_kb(served.process().id());
    run_traffic(served.client(), all,
                {.port = served.port(), .seed = seed + 1, .time = time - time / 3}, findings);
    while (live_requests(served) > 0) {
    }
  })) << served.process().errors();
  for (const std::string& wrong : findings.wrong)
    ADD_FAILURE() << wrong;
  EXPECT_GT(findings.right, 20);
  const int64_t end_kb = resident_kb(served.process().id());
  EXPECT_LT(end_kb, warm_kb + warm_kb / 8 + 24 * 1024) << "memory grows";
  RecordProperty("right", fmt::format("{}", findings.right.load()));
  RecordProperty("memory_kb", fmt::format("{} -> {}", warm_kb, end_kb));

  // SIGTERM: what runs is finished, and what comes then is not taken.
  std::vector<std::future<Reply>> streams;
  ASSERT_TRUE(served.beside([&] {
    for (int i = 0; i < 4; ++i) {
      streams.push_back(std::async(std::launch::async, [&, i] {
        return ask(
            served.client(), served.url("/v1/chat/completions"),
            chat_body(fmt::format("and then {}", i), 120, R"(,"ignore_eos":true,"stream":true)"));
      }));
    }
    while (live_requests(served) < 4) {
    }
  }));
  served.process().send(SIGTERM);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
  for (std::future<Reply>& stream : streams) {
    const Reply reply = stream.get();
    EXPECT_TRUE(gist_of_stream(reply.body).has_value()) << reply.why << reply.body;
  }
}

TEST(Load, TwoThousandOpenStreams) {
  constexpr int kStreams = 2000;
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < kStreams + 100) {
    GTEST_SKIP() << "this system allows " << files.rlim_max << " open files; 2,100 are needed";
  }
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  Served served(
      {"--model", "chat=sim:step-us=2000,row-us=1,answer-tokens=12", "--rows-max", "256"});
  ASSERT_TRUE(served.started()) << served.process().wait();
  std::atomic<int> whole = 0;
  std::mutex mutex;
  std::string first_wrong;
  ASSERT_TRUE(served.beside([&] {
    std::vector<std::promise<void>> ended(kStreams);
    for (int i = 0; i < kStreams; ++i) {
      http::ClientRequest request;
      request.method = http::Method::kPost;
      request.url = http::parse_url(served.url("/v1/chat/completions")).value();
      request.body = std::make_shared<const std::string>(
          chat_body(fmt::format("stream {}", i), 12, R"(,"stream":true)"));
      request.limits.total = std::chrono::minutes(3);
      served.client().send(std::move(request), [&, i](http::ClientResult result) {
        const auto* reply = std::get_if<http::ClientReply>(&result);
        if (reply != nullptr && gist_of_stream(reply->body)) {
          ++whole;
        } else {
          const std::scoped_lock lock(mutex);
          if (first_wrong.empty()) {
            first_wrong = reply != nullptr ? fmt::format("{} {}", reply->head.status, reply->body)
                                           : std::get<http::ClientFailure>(result).message;
          }
        }
        ended[static_cast<size_t>(i)].set_value();
      });
    }
    for (std::promise<void>& one : ended)
      one.get_future().wait();
  })) << served.process().errors();
  EXPECT_EQ(whole, kStreams) << first_wrong;
  served.process().send(SIGTERM);
  EXPECT_EQ(served.process().wait().code, 0);
}

}  // namespace
}  // namespace windrow::load
