// Every endpoint and every way to ask, through the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <map>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;

// The response bodies of a job in which every row succeeded, by custom_id.
std::map<std::string, json::object> bodies(const JobFolder& folder, const std::string& requests,
                                           const Words& more = {}) {
  folder.write("requests.jsonl", requests);
  Words words = more;
  words.insert(words.end(), {"--fresh"});
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl", words));
  EXPECT_EQ(ended.code, 0) << ended;
  std::map<std::string, json::object> found;
  for (const LogLine& line : read_log(folder, "results.jsonl")) {
    found[std::string(line.json.at("custom_id").as_string())] =
        line.json.at("response").at("body").as_object();
  }
  return found;
}

class Endpoints : public ::testing::Test {
 protected:
  Endpoints() { folder_.use_model(model_path("qwen3")); }

  JobFolder folder_;
};

TEST_F(Endpoints, SeveralChoicesAreThoseOfTheSameRowAlone) {
  const json::object body{{"max_tokens", 8}, {"seed", 5}, {"temperature", 1}, {"ignore_eos", true}};
  json::object three = body;
  three["n"] = 3;
  const auto found =
      bodies(folder_, chat_line("one", "the house", body) + chat_line("three", "the house", three));
  const json::array& choices = found.at("three").at("choices").as_array();
  ASSERT_EQ(choices.size(), 3U);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(choices[i].at("index"), i);
  EXPECT_EQ(choices[0].at("message"), found.at("one").at("choices").at(0).at("message"))
      << "the first is the one there would be alone";
  EXPECT_NE(choices[0].at("message"), choices[1].at("message"));
  EXPECT_NE(choices[1].at("message"), choices[2].at("message"));
  EXPECT_EQ(found.at("three").at("usage").at("prompt_tokens"),
            found.at("one").at("usage").at("prompt_tokens"))
      << "a prompt counts once";
  EXPECT_EQ(found.at("three").at("usage").at("completion_tokens"), 24);
}

TEST_F(Endpoints, APromptIsScoredWithoutAnAnswer) {
  const auto found = bodies(
      folder_, completion_line("scored", "the house of the water",
                               {{"max_tokens", 0}, {"echo", true}, {"logprobs", 2}}) +
                   completion_line(
                       "continued", "the house",
                       {{"max_tokens", 4}, {"echo", true}, {"logprobs", 0}, {"temperature", 0}}));
  const json::value& choice = found.at("scored").at("choices").at(0);
  EXPECT_EQ(choice.at("text"), "the house of the water");
  EXPECT_EQ(choice.at("finish_reason"), "length");
  const json::object& scores = choice.at("logprobs").as_object();
  const auto tokens =
      static_cast<size_t>(found.at("scored").at("usage").at("prompt_tokens").as_int64());
  ASSERT_EQ(scores.at("tokens").as_array().size(), tokens);
  ASSERT_EQ(scores.at("token_logprobs").as_array().size(), tokens);
  EXPECT_TRUE(scores.at("token_logprobs").at(0).is_null()) << "nothing stands before it";
  for (size_t i = 1; i < tokens; ++i) {
    const double logprob = scores.at("token_logprobs").at(i).as_double();
    EXPECT_LT(logprob, 0);
    EXPECT_GE(scores.at("top_logprobs").at(i).as_object().size(), 2U);
    for (const auto& top : scores.at("top_logprobs").at(i).as_object()) {
      EXPECT_LE(top.value().to_number<double>(), 0);
    }
  }
  std::string text;
  for (const json::value& token : scores.at("tokens").as_array())
    text += token.as_string();
  EXPECT_EQ(text, "the house of the water");
  EXPECT_EQ(found.at("scored").at("usage").at("completion_tokens"), 0);

  const json::value& continued = found.at("continued").at("choices").at(0);
  EXPECT_TRUE(std::string_view(continued.at("text").as_string()).starts_with("the house"));
  EXPECT_GT(continued.at("logprobs").at("tokens").as_array().size(), 4U);
}

TEST_F(Endpoints, TokensAreTakenAsTheyAreAndPromptsMayBeMany) {
  const auto found = bodies(
      folder_,
      completion_line("many", "",
                      {{"prompt", {"the house", "the water"}},
                       {"max_tokens", 4},
                       {"temperature", 0},
                       {"n", 2}}) +
          completion_line("house", "the house", {{"max_tokens", 4}, {"temperature", 0}}) +
          completion_line("water", "the water", {{"max_tokens", 4}, {"temperature", 0}}) +
          completion_line("ids", "", {{"prompt", json::array{300, 301, 302}}, {"max_tokens", 1}}));
  const json::array& choices = found.at("many").at("choices").as_array();
  ASSERT_EQ(choices.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(choices[i].at("text"),
              found.at(i < 2 ? "house" : "water").at("choices").at(0).at("text"));
  }
  EXPECT_EQ(found.at("ids").at("usage").at("prompt_tokens"), 3);
}

TEST_F(Endpoints, ChatLogprobsListEveryTokenWithTheMostLikelyOnes) {
  const auto found = bodies(folder_, chat_line("a", "the house",
                                               {{"max_tokens", 5},
                                                {"temperature", 0},
                                                {"ignore_eos", true},
                                                {"logprobs", true},
                                                {"top_logprobs", 3}}));
  const json::value& choice = found.at("a").at("choices").at(0);
  const json::array& content = choice.at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 5U);
  for (const json::value& token : content) {
    ASSERT_EQ(token.at("top_logprobs").as_array().size(), 3U);
    EXPECT_EQ(token.at("token"), token.at("top_logprobs").at(0).at("token")) << "greedy";
    EXPECT_EQ(token.at("logprob"), token.at("top_logprobs").at(0).at("logprob"));
  }
}

TEST_F(Endpoints, PenaltiesAndBiasChangeWhatIsSaid) {
  const json::object plain{{"max_tokens", 24}, {"temperature", 0}, {"ignore_eos", true}};
  json::object biased = plain;
  biased["logit_bias"] = {{"300", 100}, {"99999999", 5}};
  json::object penalised = plain;
  penalised["frequency_penalty"] = 2;
  penalised["presence_penalty"] = 2;
  penalised["repetition_penalty"] = 1.5;
  const auto found = bodies(folder_, completion_line("plain", "the house", plain) +
                                         completion_line("biased", "the house", biased) +
                                         completion_line("penalised", "the house", penalised));
  const auto text = [&](const char* id) {
    return std::string(found.at(id).at("choices").at(0).at("text").as_string());
  };
  EXPECT_NE(text("plain"), text("biased"));
  EXPECT_NE(text("plain"), text("penalised"));
}

TEST_F(Endpoints, ASwitchOrAnImageThatCannotBeHonouredCostsItsRow) {
  folder_.write(
      "requests.jsonl",
      chat_line("switch", "the", {{"chat_template_kwargs", {{"enable_thinking", false}}}}) +
          chat_line("image", "", {{"messages", json::parse(R"([{"role": "user",
                         "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])")}}) +
          chat_line("good", "the", {{"max_tokens", 1}}));
  const Ended ended = folder_.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 1U);
  std::map<std::string, std::string> messages;
  for (const LogLine& line : read_log(folder_, "results.errors.jsonl"))
    messages[member(line.json, "custom_id")] = member(line.json, "error.message");
  EXPECT_THAT(messages["\"switch\""],
              HasSubstr("does not know chat_template_kwargs.enable_thinking"));
  EXPECT_THAT(messages["\"image\""], HasSubstr("image_url"));
}

TEST_F(Endpoints, AThinkingSwitchAndThoughtsOfTheTemplate) {
  folder_.write("thinks.jinja",
                "{{ messages[0].content }}{% if enable_thinking %}<think>\n{% else %}"
                "<think></think>{% endif %}");
  const json::object body{{"max_tokens", 3}, {"temperature", 0}, {"ignore_eos", true}};
  json::object thinks = body;
  thinks["chat_template_kwargs"] = {{"enable_thinking", true}};
  const auto found =
      bodies(folder_, chat_line("thinks", "the", thinks) + chat_line("speaks", "the", body),
             {"--chat-template", "thinks.jinja"});
  const json::value& thinking = found.at("thinks").at("choices").at(0).at("message");
  EXPECT_EQ(thinking.at("content"), "");
  EXPECT_TRUE(thinking.as_object().contains("reasoning_content"));
  const json::value& speaking = found.at("speaks").at("choices").at(0).at("message");
  EXPECT_NE(speaking.at("content"), "");
  EXPECT_FALSE(speaking.as_object().contains("reasoning_content"));
}

TEST_F(Endpoints, OneFileMayChatWithOneModelAndEmbedWithAnother) {
  folder_.use_model(model_path("bert"), "embed.gguf");
  folder_.write(
      "requests.jsonl",
      chat_line("chat", "the house", {{"model", "chat"}, {"max_tokens", 3}}) +
          embedding_line("texts", "", {{"model", "embed"}, {"input", {"the house", "the water"}}}) +
          embedding_line("one", "the house", {{"model", "embed"}}) +
          embedding_line("short", "the house", {{"model", "embed"}, {"dimensions", 8}}) +
          embedding_line("base64", "the house",
                         {{"model", "embed"}, {"encoding_format", "base64"}}) +
          embedding_line("causal", "the house", {{"model", "chat"}}) +
          embedding_line("too-wide", "the house", {{"model", "embed"}, {"dimensions", 100000}}));
  const Ended ended = folder_.windrow({"run", "requests.jsonl", "-o", "results.jsonl", "--model",
                                       "chat=model.gguf", "--model", "embed=embed.gguf"});
  EXPECT_EQ(ended.code, 1) << ended;
  std::map<std::string, json::object> found;
  for (const LogLine& line : read_log(folder_, "results.jsonl")) {
    found[std::string(line.json.at("custom_id").as_string())] =
        line.json.at("response").at("body").as_object();
  }
  ASSERT_EQ(found.size(), 6U);
  const auto vector = [&](const char* id, size_t index) {
    std::vector<double> numbers;
    for (const json::value& number : found.at(id).at("data").at(index).at("embedding").as_array()) {
      numbers.push_back(number.to_number<double>());
    }
    return numbers;
  };
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
      sum += a[i] * b.at(i);
    return sum;
  };
  EXPECT_NEAR(product(vector("one", 0), vector("one", 0)), 1, 1e-4) << "of length 1";
  EXPECT_GT(product(vector("one", 0), vector("texts", 0)), 0.9999);
  EXPECT_LT(product(vector("one", 0), vector("texts", 1)), 0.9999);
  ASSERT_EQ(vector("short", 0).size(), 8U);
  EXPECT_NEAR(product(vector("short", 0), vector("short", 0)), 1, 1e-4);
  EXPECT_GT(found.at("base64").at("data").at(0).at("embedding").as_string().size(), 100U);
  EXPECT_NEAR(product(vector("causal", 0), vector("causal", 0)), 1, 1e-4);
  EXPECT_EQ(found.at("texts").at("usage").at("total_tokens"),
            found.at("texts").at("usage").at("prompt_tokens"));
  const std::vector<LogLine> errors = read_log(folder_, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(member(errors[0].json, "error.param"), "\"dimensions\"");
}

}  // namespace
}  // namespace windrow::end_to_end
