#include "api/calls/call_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/storage/response_store.h"
#include "batch/row_reader.h"
#include "json/limits.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;
using dispatch::Priority;
using llm::Endpoint;
using std::chrono::seconds;

const std::string kChat = R"({"model":"m","messages":[{"role":"user","content":"hi"}]})";

class CallReaderTest : public ::testing::Test {
 protected:
  CallReaderTest() {
    registry_.add({.name = "m",
                   .endpoints = {Endpoint::kChatCompletions, Endpoint::kCompletions},
                   .upstreams = 5});
    registry_.add(
        {.name = "far",
         .endpoints = {Endpoint::kChatCompletions, Endpoint::kEmbeddings, Endpoint::kRerank},
         .raw = true});
    registry_.add({.name = "rank", .endpoints = {Endpoint::kRerank}});
    registry_.add_alias("nick", "m");
  }

  std::variant<CallPlan, llm::Failure> read(std::string body) {
    input_.body = std::move(body);
    return read_call(input_, rules_, registry_);
  }
  CallPlan plan(std::string body) { return std::get<CallPlan>(read(std::move(body))); }
  llm::Failure failure(std::string body) { return std::get<llm::Failure>(read(std::move(body))); }

  CallInput input_{.arrived_at = TimePoint(seconds(100)), .chance = 42};
  CallRules rules_;
  ModelRegistry registry_;
};

TEST_F(CallReaderTest, ABodyBecomesARequest) {
  const CallPlan made = plan(kChat);
  EXPECT_EQ(made.model->name, "m");
  EXPECT_EQ(made.model_name, "m");
  EXPECT_EQ(made.request.chat.messages.size(), 1U);
  EXPECT_EQ(made.request.sampling.seed, 42U);
  EXPECT_EQ(made.item.priority, Priority::kNormal);
  EXPECT_EQ(made.item.upstreams, 5U);
  EXPECT_EQ(made.item.lane, 0U);
  EXPECT_GT(made.item.tokens, 1);
  EXPECT_FALSE(made.item.deadline.has_value());
  EXPECT_FALSE(made.item.same_answer.has_value());
}

struct Anywhere final : llm::ModelResidency {
  llm::ModelStatus status() const override { return {}; }
  void load() override {}
  llm::UnloadResult unload() override { return llm::UnloadResult::kUnloading; }
  void unload_when_unused() override {}
};

TEST_F(CallReaderTest, OnlyAModelThatComesAndGoesIsWaitedFor) {
  rules_.load_wait = seconds(30);
  EXPECT_EQ(plan(kChat).load_wait, nullptr);
  registry_.add({.name = "m",
                 .endpoints = {Endpoint::kChatCompletions},
                 .residence = std::make_shared<Anywhere>()});
  EXPECT_EQ(plan(kChat).load_wait->until, TimePoint(seconds(130)));
  rules_.load_wait = {};
  EXPECT_EQ(plan(kChat).load_wait->until, std::nullopt) << "as long as it takes";
}

TEST_F(CallReaderTest, AModelIsKnownByItsNames) {
  const CallPlan made = plan(R"({"model":"nick","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(made.model->name, "m");
  EXPECT_EQ(made.model_name, "nick");
  const llm::Failure unknown = failure(R"({"model":"x","messages":[]})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.code, "model_not_found");
  EXPECT_EQ(unknown.message, "there is no model \"x\"; the models are m, far, rank, nick");
  const llm::Failure none = failure(R"({"model":null,"messages":[]})");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(none.param, "model");
  input_.endpoint = Endpoint::kRerank;
  EXPECT_EQ(failure(R"({"model":"m"})").code, "unsupported_by_model");
}

TEST_F(CallReaderTest, WithoutANameTheOnlyModelThatAnswersIsMeant) {
  input_.endpoint = Endpoint::kCompletions;
  EXPECT_EQ(plan(R"({"prompt":"a"})").model->name, "m");
  EXPECT_EQ(plan(R"({"prompt":"a","model":""})").model_name, "m");
  input_.endpoint = Endpoint::kRerank;  // there are two
  EXPECT_EQ(failure(R"({"query":"q","documents":["a"]})").param, "model");
}

TEST_F(CallReaderTest, DefaultsAreLaidUnder) {
  rules_.body.defaults = {{"temperature", 0.25}, {"dimensions", 3}, {"seed", 7}};
  CallPlan made = plan(kChat);
  EXPECT_EQ(made.request.sampling.temperature, 0.25F);
  EXPECT_EQ(made.request.sampling.seed, 7U);
  made = plan(R"({"model":"m","temperature":1,"seed":null,
                  "messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(made.request.sampling.temperature, 1.0F);
  EXPECT_EQ(made.request.sampling.seed, 7U);
}

// A body means the same as a row of a file and as a call, and is refused for the same reason.
TEST_F(CallReaderTest, ABodyMeansTheSameInAFile) {
  const std::string deep = std::string(140, '[') + std::string(140, ']');
  const std::string asked = R"({"model":"m","messages":[{"role":"user","content":"hi"}])";
  const std::vector<std::pair<Endpoint, std::string>> corpus = {
      {Endpoint::kChatCompletions, kChat},
      {Endpoint::kChatCompletions, asked + R"(,"temperature":0.7,"seed":3,"n":2})"},
      {Endpoint::kChatCompletions, asked + R"(,"temperature":0,"max_tokens":5})"},
      {Endpoint::kChatCompletions, asked + R"(,"response_format":{"type":"json_object"}})"},
      {Endpoint::kChatCompletions, asked + R"(,"tempo":1})"},
      {Endpoint::kChatCompletions, R"({"model":"m","messages":[],"temperature":0})"},
      {Endpoint::kChatCompletions,
       R"({"model":"m","messages":[{"role":"user","content":"a"}],"n":0})"},
      {Endpoint::kChatCompletions, R"({"model":"m","messages":)" + deep + "}"},
      {Endpoint::kCompletions, R"({"prompt":"a","seed":null,"logprobs":3,"echo":true})"},
      {Endpoint::kCompletions, R"({"prompt":["a","b"],"max_tokens":0})"},
      {Endpoint::kCompletions, R"({"prompt":"a","logprobs":true})"},
      {Endpoint::kCompletions, R"({"prompt":"a","metadata":{"k":"v"}})"},
  };
  for (const llm::UnknownFields unknown :
       {llm::UnknownFields::kRefuse, llm::UnknownFields::kIgnore}) {
    rules_.body = {.defaults = {{"temperature", 0.25}, {"max_tokens", 9}, {"metadata", nullptr}},
                   .unknown_fields = unknown};
    const batch::RowReader rows({.body = rules_.body, .models = {"m"}, .any_model = true});
    for (const auto& [endpoint, body] : corpus) {
      SCOPED_TRACE(body.substr(0, 120));
      const std::string line =
          fmt::format(R"({{"custom_id":"a","url":"{}","body":{}}})", llm::url_of(endpoint), body);
      input_.endpoint = endpoint;
      const auto call = read(body);
      const batch::RowOrFault row = rows.read({.number = 1, .bytes = line, .length = line.size()});
      const auto* plan = std::get_if<CallPlan>(&call);
      const auto* made = std::get_if<batch::Row>(&row);
      ASSERT_EQ(plan != nullptr, made != nullptr);
      if (plan == nullptr) {
        const llm::Failure& of_call = std::get<llm::Failure>(call);
        const llm::Failure& of_row = std::get<batch::RowFault>(row).failure;
        EXPECT_EQ(of_call.status, of_row.status);
        EXPECT_EQ(of_call.param, of_row.param);
        if (!of_row.param.empty()) EXPECT_EQ(of_call.message, of_row.message);
        continue;
      }
      EXPECT_EQ(plan->item.same_answer, made->question);
      EXPECT_EQ(plan->ignored_fields, made->ignored_fields);
      EXPECT_EQ(plan->request.sampling.temperature, made->request.sampling.temperature);
      EXPECT_EQ(plan->request.output_tokens_max, made->request.output_tokens_max);
      EXPECT_EQ(plan->request.choices, made->request.choices);
      EXPECT_EQ(plan->request.chat.messages, made->request.chat.messages);
    }
  }
}

TEST_F(CallReaderTest, EqualQuestionsAreToldApartFromOthers) {
  const auto question = [&](std::string_view rest) {
    return plan(R"({"model":"m","messages":[{"role":"user","content":"hi"}])" + std::string(rest) +
                "}")
        .item.same_answer;
  };
  const auto greedy = question(R"(,"temperature":0)");
  ASSERT_TRUE(greedy.has_value());
  EXPECT_EQ(question(R"(,"temperature":0,"stream":true,"priority":1)"), greedy);
  EXPECT_NE(question(R"(,"temperature":0,"max_tokens":5)"), greedy);
  EXPECT_TRUE(question(R"(,"seed":1)").has_value());
  EXPECT_FALSE(question("").has_value());
  rules_.body.seed = 9;
  EXPECT_TRUE(question("").has_value());
  EXPECT_EQ(plan(kChat).request.sampling.seed, 9U);
  rules_.coalesce = false;
  EXPECT_FALSE(question(R"(,"temperature":0)").has_value());
}

TEST_F(CallReaderTest, HowItIsTreatedGoesToTheItem) {
  input_.key = "alice";
  input_.headers = {{"X-Windrow-Lane", "a"},
                    {"X-Windrow-Deadline-Ms", "2000"},
                    {"X-Windrow-Priority", "interactive"}};
  const CallPlan made = plan(kChat);
  EXPECT_EQ(made.item.priority, Priority::kInteractive);
  EXPECT_EQ(made.item.deadline, TimePoint(seconds(102)));
  EXPECT_NE(made.item.lane, 0U);
  EXPECT_EQ(plan(kChat).item.lane, made.item.lane);
  input_.key = "bob";
  EXPECT_NE(plan(kChat).item.lane, made.item.lane);
  input_.key = "alice";
  input_.headers = {{"X-Windrow-Lane", "b"}};
  EXPECT_NE(plan(kChat).item.lane, made.item.lane);
}

TEST_F(CallReaderTest, AKeyBoundsHowUrgentItIs) {
  input_.priority_max = Priority::kNormal;
  input_.headers = {{"X-Windrow-Priority", "interactive"}};
  EXPECT_EQ(plan(kChat).item.priority, Priority::kNormal);
  input_.headers = {{"X-Windrow-Priority", "batch"}};
  EXPECT_EQ(plan(kChat).item.priority, Priority::kBatch);
}

TEST_F(CallReaderTest, TokensOfAnotherVocabularyAreCounted) {
  registry_.add(
      {.name = "small", .endpoints = {Endpoint::kChatCompletions}, .vocabulary_size = 100});
  const auto ignored = [&](std::string_view biases) {
    const CallPlan made = plan(R"({"model":"small","messages":[{"role":"user","content":"hi"}],)"
                               R"("logit_bias":)" +
                               std::string(biases) + "}");
    return made.ignored_tokens;
  };
  EXPECT_EQ(ignored("{}"), 0);
  EXPECT_EQ(ignored("null"), 0);
  EXPECT_EQ(ignored(R"({"0":1,"99":-100})"), 0);
  EXPECT_EQ(ignored(R"({"99":1,"100":1,"2753":5,"99999999999999":5})"), 3);
  EXPECT_EQ(plan(R"({"model":"m","logit_bias":{"7":1},"messages":[{"role":"user",
                     "content":"hi"}]})")
                .ignored_tokens,
            0)
      << "nobody knows how many there are";
}

TEST_F(CallReaderTest, ABodyForElsewhereGoesAsItWasWritten) {
  const std::string body =
      R"({ "model":"far", "vendor":1.50, "stream":true, "messages":[{"role":"x"}] })";
  const CallPlan made = plan(body);
  EXPECT_TRUE(made.envelope.stream);
  EXPECT_EQ(made.request.raw, R"({"model":"far","vendor":1.50,"messages":[{"role":"x"}]})");
  EXPECT_EQ(plan(R"({"model":"far","a":[1, 2]})").request.raw, R"({"model":"far","a":[1, 2]})");
  // vLLM has numbers; words are ours.
  EXPECT_EQ(plan(R"({"model":"far","priority":-3})").request.raw,
            R"({"model":"far","priority":-3})");
  EXPECT_EQ(plan(R"({"priority":"batch","model":"far"})").request.raw, R"({"model":"far"})");
}

TEST_F(CallReaderTest, TeisFormIsReadWhereItMayBe) {
  input_.endpoint = Endpoint::kRerank;
  input_.may_be_tei = true;
  const CallPlan made = plan(R"({"model":"rank","query":"q","texts":["a","b"],"truncate":false,
      "truncation_direction":"Right","return_text":true,"raw_scores":true})");
  EXPECT_TRUE(made.tei);
  EXPECT_TRUE(made.raw_scores);
  EXPECT_TRUE(made.request.return_documents);
  ASSERT_EQ(made.request.inputs.size(), 2U);
  EXPECT_EQ(made.request.inputs[1].text, "b");
  EXPECT_EQ(failure(R"({"model":"rank","query":"q","texts":["a"],"truncate":true})").param,
            "truncate");
  EXPECT_EQ(failure(R"({"model":"rank","query":"q","texts":["a"],"raw_scores":1})").param,
            "raw_scores");
  EXPECT_EQ(json::parse(plan(R"({"model":"far","query":"q","texts":["a"]})").request.raw),
            json::parse(R"({"model":"far","query":"q","documents":["a"]})"));
  EXPECT_FALSE(plan(R"({"model":"rank","query":"q","documents":["a"]})").tei);
  input_.may_be_tei = false;
  EXPECT_EQ(failure(R"({"model":"rank","query":"q","texts":["a"]})").status, 400);
}

TEST_F(CallReaderTest, JsonHasLimits) {
  const auto nested = [](size_t depth) {
    return R"({"model":"far","a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') +
           "}";
  };
  EXPECT_TRUE(std::holds_alternative<CallPlan>(read(nested(kJsonDepthMax))));
  EXPECT_EQ(failure(nested(kJsonDepthMax + 1)).code, "invalid_json");
  EXPECT_NE(failure(nested(kJsonDepthMax + 1)).message.find("128"), std::string::npos);
  EXPECT_NE(failure("").message.find("empty"), std::string::npos);
  EXPECT_NE(failure("[]").message.find("array"), std::string::npos);
  for (const char* wrong : {"{", "{}}", "{\"a\":\"\xC3\"}", "{\"a\":01}", "\xEF\xBB\xBF{}", "nul"})
    EXPECT_EQ(failure(wrong).code, "invalid_json") << wrong;
}

// --- other dialects ---

TEST_F(CallReaderTest, ABodyOfAnotherDialectBecomesAChat) {
  input_.dialect = Dialect::kResponses;
  const CallPlan made = plan(R"({"model":"m","input":"hi","max_output_tokens":7,"stream":true,
      "service_tier":"flex","reasoning":{"effort":"low"}})");
  EXPECT_EQ(json::value(made.request.chat.messages),
            json::parse(R"([{"role":"user","content":"hi"}])"));
  EXPECT_EQ(made.request.output_tokens_max, 7);
  EXPECT_TRUE(made.envelope.stream);
  EXPECT_EQ(made.envelope.priority, Priority::kBatch);
  EXPECT_TRUE(made.request.chat.template_arguments.empty());
  EXPECT_EQ(made.request.chat.wishes.at("reasoning_effort"), "low");
  const json::value echo = json::parse("{" + made.echo.substr(0, made.echo.size() - 1) + "}");
  EXPECT_EQ(echo.at("max_output_tokens"), 7);
  EXPECT_EQ(echo.at("temperature"), 1.0);
  EXPECT_EQ(echo.at("reasoning").at("effort"), "low");
}

// While the body is read: the thread that keeps the response serves everybody.
TEST_F(CallReaderTest, TheInputOfAResponseIsReadyToBeKept) {
  ResponseStore store(size_t{1} << 20);
  const KeyedResponses earlier(store, "");
  input_.dialect = Dialect::kResponses;
  input_.call_id = "resp_5c0e";
  const auto kept = [&](std::string_view more) {
    input_.body = fmt::format(R"({{"model":"m","input":"hi"{}}})", more);
    return std::get<CallPlan>(read_call(input_, rules_, registry_, &earlier)).kept;
  };
  const std::optional<StoredResponse> response = kept("");
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->id, "resp_5c0e");
  EXPECT_EQ(response->previous_id, "");
  EXPECT_EQ(response->input.ids, (std::vector<std::string>{"msg_5c0ein0"}));
  EXPECT_EQ(json::parse(response->input.text), json::parse(R"([{"role":"user","type":"message",
      "content":[{"type":"input_text","text":"hi"}],"status":"completed","id":"msg_5c0ein0"}])"));
  EXPECT_FALSE(kept(R"(,"store":false)").has_value());
}

TEST_F(CallReaderTest, AnEffortIsTheSameInEveryDialect) {
  const auto asked = [&](Dialect dialect, std::string_view effort) {
    input_.dialect = dialect;
    const std::string_view head = R"({"model":"m",)";
    const std::string_view chat = R"("messages":[{"role":"user","content":"hi"}],)";
    if (dialect == Dialect::kOwn)
      return fmt::format(R"({}{}"reasoning_effort":{}}})", head, chat, effort);
    if (dialect == Dialect::kResponses)
      return fmt::format(R"({}"input":"hi","reasoning":{{"effort":{}}}}})", head, effort);
    return fmt::format(R"({}{}"max_tokens":1,"output_config":{{"effort":{}}}}})", head, chat,
                       effort);
  };
  struct Said {
    Dialect dialect;
    std::string_view param;
  };
  for (const Said& said :
       {Said{Dialect::kOwn, "reasoning_effort"}, Said{Dialect::kResponses, "reasoning.effort"},
        Said{Dialect::kMessages, "output_config.effort"}}) {
    for (const std::string_view effort :
         {"none", "minimal", "low", "medium", "high", "xhigh", "max"}) {
      const CallPlan made = plan(asked(said.dialect, fmt::format("\"{}\"", effort)));
      EXPECT_EQ(made.request.chat.wishes, (json::object{{"reasoning_effort", effort}}));
      EXPECT_TRUE(made.request.chat.template_arguments.empty());
    }
    EXPECT_TRUE(plan(asked(said.dialect, "null")).request.chat.wishes.empty());
    const llm::Failure wrong = failure(asked(said.dialect, "\"deep\""));
    EXPECT_EQ(wrong.code, "invalid_value");
    EXPECT_EQ(wrong.param, said.param);
    EXPECT_EQ(
        wrong.message,
        fmt::format("{} is \"deep\"; it must be none, minimal, low, medium, high, xhigh or max",
                    said.param));
    EXPECT_EQ(failure(asked(said.dialect, "3")).message,
              fmt::format("{} must be a string, not a number", said.param));
  }
}

TEST_F(CallReaderTest, AServerElsewhereGetsTheChat) {
  input_.dialect = Dialect::kMessages;
  const CallPlan made = plan(R"({"model":"far","max_tokens":7,"stream":true,"priority":"batch",
      "messages":[{"role":"user","content":"hi"}],"thinking":{"type":"disabled"},
      "output_config":{"effort":"low"},"stop_sequences":["x"]})");
  EXPECT_EQ(json::parse(made.request.raw), json::parse(R"({"model":"far","max_tokens":7,
      "messages":[{"role":"user","content":"hi"}],"stop":["x"],"reasoning_effort":"low",
      "chat_template_kwargs":{"enable_thinking":false}})"));
  EXPECT_EQ(made.request.output_tokens_max, 7);
  EXPECT_EQ(made.envelope.priority, Priority::kBatch);
}

TEST_F(CallReaderTest, WhatATemplateIsWishedToKnowIsPartOfTheQuestion) {
  input_.dialect = Dialect::kMessages;
  const CallPlan message = plan(R"({"model":"m","messages":[{"role":"user","content":"hi"}],
      "max_tokens":7,"temperature":0})");
  const CallPlan streamed = plan(R"({"model":"m","messages":[{"role":"user","content":"hi"}],
      "max_tokens":7,"temperature":0,"stream":true})");
  const CallPlan thinking = plan(R"({"model":"m","messages":[{"role":"user","content":"hi"}],
      "max_tokens":7,"temperature":0,"thinking":{"type":"enabled"}})");
  ASSERT_TRUE(message.item.same_answer.has_value());
  EXPECT_EQ(message.item.same_answer, streamed.item.same_answer);
  EXPECT_NE(message.item.same_answer, thinking.item.same_answer);
}

}  // namespace
}  // namespace windrow::api
