// `windrow serve` with more models than there is memory for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string completion(std::string_view model, std::string_view prompt = "the house") {
  return fmt::format(
      R"({{"model":"{}","prompt":"{}","max_tokens":6,"temperature":0,"ignore_eos":true}})", model,
      prompt);
}

// "loaded", "not_loaded"; of each model by its name.
std::map<std::string, std::string> states(const Served& served) {
  std::map<std::string, std::string> states;
  const HttpReply reply = served.get("/v1/models");
  const json::value page = json::parse(reply.body);
  for (const json::value& model : page.at("data").as_array()) {
    states[std::string(model.at("id").as_string())] =
        std::string(model.at_pointer("/windrow/state").as_string());
  }
  return states;
}

int64_t loaded(const Served& served) {
  const auto all = states(served);
  return std::ranges::count(all, "loaded", [](const auto& one) { return one.second; });
}

std::string text_of(const HttpReply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  if (reply.status != 200) return "";
  return std::string(json::parse(reply.body).at_pointer("/choices/0/text").as_string());
}

std::string code_of(const HttpReply& reply) {
  return std::string(json::parse(reply.body).at_pointer("/error/code").as_string());
}

// Resident memory of a process, in MiB.
int64_t resident_mib(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  int64_t size = 0;
  int64_t resident = 0;
  file >> size >> resident;
  return resident * 4096 / (1 << 20);
}

// Three of which two fit, each with answers of its own.
const Words kThree = {"--model",  "a=sim:instant,memory-mb=400,seed=1",
                      "--model",  "b=sim:instant,memory-mb=400,seed=2",
                      "--model",  "c=sim:instant,memory-mb=400,seed=3",
                      "--memory", "1GB"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ServePool, LoadsAtTheStartWhatFitsAndTheRestWhenItIsAskedFor) {
  const JobFolder folder;
  Served served(folder, with(kThree, {"--model-alias", "other=c"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  using States = std::map<std::string, std::string>;
  EXPECT_EQ(
      states(served),
      (States{{"a", "loaded"}, {"b", "loaded"}, {"c", "not_loaded"}, {"other", "not_loaded"}}));
  EXPECT_TRUE(served.process().wait_for_errors(": a, b; loaded when asked for: c\n"));
  const std::string of_c = text_of(served.post("/v1/completions", completion("other")));
  EXPECT_EQ(states(served),
            (States{{"a", "not_loaded"}, {"b", "loaded"}, {"c", "loaded"}, {"other", "loaded"}}));
  const std::string of_a = text_of(served.post("/v1/completions", completion("a")));
  EXPECT_NE(of_a, of_c);
  EXPECT_EQ(text_of(served.post("/v1/completions", completion("c"))), of_c);
  const std::string page = served.get("/metrics").body;
  EXPECT_THAT(page, HasSubstr("windrow_model_loaded{model=\"a\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("windrow_model_loads_total{model=\"a\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("windrow_model_unloads_total{model=\"a\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("windrow_model_memory_bytes{model=\"b\"} 400000000\n"));
  EXPECT_THAT(served.process().errors(), Not(HasSubstr("cannot be loaded")));
}

TEST(ServePool, ModelsAreLoadedUnloadedAndPinnedByRequest) {
  const JobFolder folder;
  Served served(folder, with(kThree, {"--load", "b", "--keep-loaded", "c"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  using States = std::map<std::string, std::string>;
  EXPECT_EQ(states(served), (States{{"a", "not_loaded"}, {"b", "loaded"}, {"c", "loaded"}}));

  // By hand.
  const HttpReply kept = served.post("/v1/windrow/models/c/unload", "");
  EXPECT_EQ(kept.status, 409);
  EXPECT_EQ(code_of(kept), "model_kept_loaded");
  EXPECT_EQ(served.post("/v1/windrow/models/b/unload", "").status, 200);
  EXPECT_EQ(served.post("/v1/windrow/models/a/load", "").status, 200);
  ASSERT_TRUE(served.process().wait_until([&] { return states(served)["a"]; }, "loaded"));
  EXPECT_EQ(states(served), (States{{"a", "loaded"}, {"b", "not_loaded"}, {"c", "loaded"}}));
  EXPECT_EQ(served.post("/v1/windrow/models/none/load", "").status, 404);

  // The pinned model is not the one that is unloaded.
  for (const char* model : {"b", "a", "b"})
    text_of(served.post("/v1/completions", completion(model)));
  EXPECT_EQ(states(served)["c"], "loaded");
  EXPECT_EQ(loaded(served), 2);
}

TEST(ServePool, LoadingAndUnloadingIsForAdmins) {
  const JobFolder folder;
  const auto key = [&](const Words& words) {
    const Ended made = folder.windrow(with({"keys", "add", "keys.txt"}, words));
    EXPECT_EQ(made.code, 0) << made;
    return made.output.substr(0, made.output.find('\n'));
  };
  const std::string user = key({"alice"});
  const std::string admin = key({"root", "--admin"});
  Served served(folder, with(kThree, {"--api-keys", "keys.txt"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_EQ(served.post("/v1/windrow/models/a/unload", "").status, 401);
  const HttpReply refused = served.post("/v1/windrow/models/a/unload", "", user);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(code_of(refused), "permission_denied");
  EXPECT_EQ(served.post("/v1/windrow/models/a/unload", "", admin).status, 200);
}

// Two models, one of which takes minutes to load; no test waits for it.
const Words kOneIsSlow = {
    "--model", "fast=sim:instant", "--model", "slow=sim:instant,load-us=300000000", "--load",
    "fast",    "--grace",          "0"};

TEST(ServePool, RequestsThatWaitForALoadAreShownAndNoOtherWaits) {
  const JobFolder folder;
  Served served(folder, with(kOneIsSlow, {"--load-wait-s", "3600"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  HttpCall waits(served.port(), "POST", "/v1/completions", completion("slow"));
  ASSERT_TRUE(served.process().wait_until([&] { return served.get("/v1/windrow/requests").body; },
                                          HasSubstr(R"("state":"loading")")));
  EXPECT_EQ(states(served)["slow"], "loading");
  EXPECT_EQ(served.get("/ready").status, 200);
  text_of(served.post("/v1/completions", completion("fast")));

  served.process().send(SIGTERM);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(code_of(waits.rest()), "server_stopping");
}

TEST(ServePool, NoRequestWaitsForALoadForEver) {
  const JobFolder folder;
  Served served(folder, with(kOneIsSlow, {"--load-wait-s", "1"}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const HttpReply reply = served.post("/v1/completions", completion("slow"));
  EXPECT_EQ(reply.status, 503) << reply.body;
  EXPECT_EQ(code_of(reply), "model_loading");
  EXPECT_THAT(reply.head, HasSubstr("Retry-After: "));

  // A stop does not wait for it either.
  served.process().send(SIGTERM);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST(ServePool, IdleModelsAreUnloaded) {
  const JobFolder folder;
  Served served(folder, {"--model", "a=sim:instant", "--model", "b=sim:instant", "--keep-loaded",
                         "b", "--unload-idle-s", "1"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  ASSERT_TRUE(served.process().wait_for_errors("a is unloaded"));
  using States = std::map<std::string, std::string>;
  EXPECT_EQ(states(served), (States{{"a", "not_loaded"}, {"b", "loaded"}}));
  text_of(served.post("/v1/completions", completion("a")));
}

TEST(ServePool, SettingsThatCannotBeAreRefusedAtOnce) {
  const JobFolder folder;
  const auto refused = [&](const Words& words) {
    const Ended ended = folder.windrow(with({"serve", "--listen", "127.0.0.1:0"}, words));
    EXPECT_EQ(ended.code, 2) << ended;
    return ended.errors;
  };
  EXPECT_THAT(refused(with(kThree, {"--load", "d"})),
              HasSubstr("--load d: no model has this name"));
  EXPECT_THAT(refused(with(kThree, {"--keep-loaded", "a", "--keep-loaded", "b", "--load", "c"})),
              HasSubstr("do not fit together"));
  EXPECT_THAT(refused({"--model", "sim:instant", "--memory", "much"}), HasSubstr("such as 12G"));
}

// The answers of each real model when it is the only one.
std::map<std::string, std::string> answers_alone(const JobFolder& folder,
                                                 const std::vector<std::string>& models) {
  std::map<std::string, std::string> answers;
  for (const std::string& model : models) {
    Served served(folder, {"--model", fmt::format("{0}={0}.gguf", model), "--ctx", "256",
                           "--threads", "1", "--rows-max", "4"});
    EXPECT_TRUE(served.wait_until_ready()) << served.process().wait();
    for (const char* prompt : {"the house", "a cat"})
      answers[model + prompt] = text_of(served.post("/v1/completions", completion(model, prompt)));
  }
  return answers;
}

TEST(ServePool, RealModelsAnswerAsTheyDoAloneAndMemoryIsBounded) {
  const JobFolder folder;
  const std::vector<std::string> models = {"llama", "qwen3", "moe"};
  for (const std::string& model : models)
    folder.use_model(model_path(model), model + ".gguf");
  const std::map<std::string, std::string> alone = answers_alone(folder, models);
  Words words = {"--ctx", "256", "--threads", "1", "--rows-max", "4"};
  for (const std::string& model : models)
    words = with(words, {"--model", fmt::format("{0}={0}.gguf", model)});
  uint64_t largest = 0;
  {
    Served served(folder, words);
    ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
    EXPECT_EQ(loaded(served), 3) << "there is memory for these";
    const json::value page = json::parse(served.get("/v1/models").body);
    for (const json::value& model : page.at("data").as_array())
      largest = std::max(largest, model.at_pointer("/windrow/memory_bytes").to_number<uint64_t>());
  }
  Served served(folder, with(words, {"--memory", fmt::format("{}", largest * 5 / 2)}));
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  EXPECT_EQ(loaded(served), 2);
  int64_t first_mib = 0;
  for (int round = 0; round < 6; ++round) {
    for (const std::string& model : models) {
      for (const char* prompt : {"the house", "a cat"}) {
        EXPECT_EQ(text_of(served.post("/v1/completions", completion(model, prompt))),
                  alone.at(model + prompt))
            << model << " in round " << round;
      }
      EXPECT_LE(loaded(served), 2);
    }
    if (round == 1) first_mib = resident_mib(served.process().id());
  }
  const std::string metrics = served.get("/metrics").body;
  EXPECT_THAT(metrics, Not(HasSubstr("windrow_model_loads_total{model=\"moe\"} 1\n")));
  // Sixteen models and more have come since; what they left would be seen.
  EXPECT_LE(resident_mib(served.process().id()), first_mib + 40);
}

TEST(ServePool, ADamagedFileConcernsItsModelAlone) {
  const JobFolder folder;
  folder.use_model(model_path("llama"), "good.gguf");
  std::filesystem::copy_file(model_path("qwen3"), folder.path("spoilt.gguf"));
  Served served(folder, {"--model", "good=good.gguf", "--model", "spoilt=spoilt.gguf", "--load",
                         "good", "--ctx", "256", "--threads", "1", "--rows-max", "4"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  folder.write("spoilt.gguf", "no model any more");
  const HttpReply reply = served.post("/v1/completions", completion("spoilt"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(code_of(reply), "model_unavailable");
  EXPECT_THAT(reply.body, HasSubstr("this is not a GGUF file"));
  EXPECT_THAT(reply.body, Not(HasSubstr("spoilt.gguf"))) << "where it lies is nobody's business";
  EXPECT_THAT(reply.head, HasSubstr("Retry-After: "));
  EXPECT_FALSE(text_of(served.post("/v1/completions", completion("good"))).empty());
  EXPECT_THAT(served.get("/metrics").body,
              HasSubstr("windrow_model_load_failures_total{model=\"spoilt\"} 1\n"));
  ASSERT_TRUE(served.process().wait_for_errors("spoilt.gguf"));
}

constexpr uint32_t kNanBits = 0x7fc00000;

// Room for one model. The file of the other one has become one that libllama would abort over.
TEST(ServePool, AGoodModelStaysWhenTheFileOfTheNextOneIsAbsurd) {
  const JobFolder folder;
  folder.use_model(model_path("llama"), "good.gguf");
  std::filesystem::copy_file(model_path("qwen3"), folder.path("next.gguf"));
  const std::string whole = folder.read("next.gguf");
  Served served(folder, {"--model", "good=good.gguf", "--model", "next=next.gguf", "--load", "good",
                         "--memory", "1MB", "--ctx", "256", "--threads", "1", "--rows-max", "4"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const std::string answer = text_of(served.post("/v1/completions", completion("good")));
  folder.write("next.gguf",
               with_header_value(whole, "qwen3.attention.layer_norm_rms_epsilon", kNanBits));
  const HttpReply reply = served.post("/v1/completions", completion("next"));
  EXPECT_EQ(reply.status, 503) << reply.body;
  EXPECT_EQ(code_of(reply), "model_unavailable");
  EXPECT_THAT(reply.body, HasSubstr("the model next cannot be loaded"));
  EXPECT_THAT(reply.body, HasSubstr("qwen3.attention.layer_norm_rms_epsilon = nan"));
  EXPECT_THAT(reply.body, HasSubstr("get it again, or convert it again"));
  using States = std::map<std::string, std::string>;
  EXPECT_EQ(states(served), (States{{"good", "loaded"}, {"next", "not_loaded"}}));
  EXPECT_EQ(text_of(served.post("/v1/completions", completion("good"))), answer);
  const std::string page = served.get("/metrics").body;
  EXPECT_THAT(page, HasSubstr("windrow_model_unloads_total{model=\"good\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("windrow_model_load_failures_total{model=\"next\"} 1\n"));

  // The whole file takes its place.
  folder.write("next.gguf", whole);
  EXPECT_EQ(served.post("/v1/windrow/models/next/load", "").status, 200);
  ASSERT_TRUE(served.process().wait_until([&] { return states(served)["next"]; }, "loaded"));
  EXPECT_EQ(states(served)["good"], "not_loaded");
}

}  // namespace
}  // namespace windrow::end_to_end
