// Each field of a body: what it becomes, and how it is refused. The two tables leave out none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <functional>
#include <string>
#include <vector>

#include "llm/request_json.h"
#include "llm/testing/parse_fields.h"

namespace windrow::llm {
namespace {

namespace json = boost::json;
using testing::accepted;
using testing::refused;

constexpr Endpoint kChat = Endpoint::kChatCompletions;
constexpr Endpoint kText = Endpoint::kCompletions;
constexpr Endpoint kEmbed = Endpoint::kEmbeddings;
constexpr Endpoint kRank = Endpoint::kRerank;

struct Good {
  Endpoint endpoint;
  std::string_view fields;
  std::function<bool(const Request&)> arrived;
};

const std::vector<Good>& good_fields() {
  using R = const Request&;
  static const std::vector<Good> kGood = {
      {kText, R"("model":"m")", [](R r) { return r.model == "m"; }},
      {kText, R"("temperature":0.5)", [](R r) { return r.sampling.temperature == 0.5F; }},
      {kText, R"("temperature":0)", [](R r) { return r.sampling.temperature == 0; }},
      {kText, R"("top_p":0.25)", [](R r) { return r.sampling.top_p == 0.25F; }},
      {kText, R"("top_k":40)", [](R r) { return r.sampling.top_k == 40; }},
      {kText, R"("top_k":4e1)", [](R r) { return r.sampling.top_k == 40; }},
      {kText, R"("top_k":-1)", [](R r) { return r.sampling.top_k == 0; }},
      {kText, R"("min_p":0.125)", [](R r) { return r.sampling.min_p == 0.125F; }},
      {kText, R"("typical_p":0.5)", [](R r) { return r.sampling.typical_p == 0.5F; }},
      {kText, R"("presence_penalty":-2)", [](R r) { return r.sampling.presence_penalty == -2; }},
      {kText, R"("frequency_penalty":2)", [](R r) { return r.sampling.frequency_penalty == 2; }},
      {kText, R"("repetition_penalty":1.5)",
       [](R r) { return r.sampling.repetition_penalty == 1.5F; }},
      {kText, R"("repeat_penalty":1.5)", [](R r) { return r.sampling.repetition_penalty == 1.5F; }},
      {kText, R"("repeat_penalty":1.5,"repetition_penalty":1.5)",
       [](R r) { return r.sampling.repetition_penalty == 1.5F; }},
      {kText, R"("logit_bias":{"7":-100,"0":2.5})",
       [](R r) {
         return r.sampling.logit_bias ==
                std::vector<LogitBias>{{.token = 7, .bias = -100}, {.token = 0, .bias = 2.5F}};
       }},
      // no vocabulary has these
      {kText, R"("logit_bias":{"2147483648":1,"99999999999999999999999":1})",
       [](R r) { return r.sampling.logit_bias.empty(); }},
      {kText, R"("seed":-1)", [](R r) { return r.sampling.seed == ~uint64_t{0}; }},
      {kText, R"("seed":5.0)", [](R r) { return r.sampling.seed == 5; }},
      {kText, R"("seed":18446744073709551615)",
       [](R r) { return r.sampling.seed == ~uint64_t{0}; }},
      {kText, R"("stop":".")", [](R r) { return r.stop == std::vector<std::string>{"."}; }},
      {kText, R"("stop":["a","b"])",
       [](R r) { return r.stop == std::vector<std::string>{"a", "b"}; }},
      {kText, R"("stop":[])", [](R r) { return r.stop.empty(); }},
      {kText, R"("n":128)", [](R r) { return r.choices == 128; }},
      {kText, R"("stop_token_ids":[7,9])",
       [](R r) { return r.stop_tokens == std::vector<int32_t>{7, 9}; }},
      {kChat, R"("stop_token_ids":[])", [](R r) { return r.stop_tokens.empty(); }},
      {kChat, R"("prompt_logprobs":0)", [](R r) { return r.prompt_logprobs_top == 0; }},
      {kText, R"("prompt_logprobs":20,"max_tokens":0)",
       [](R r) { return r.prompt_logprobs_top == 20 && r.output_tokens_max == 0; }},
      {kText, R"("return_token_ids":true)", [](R r) { return r.return_token_ids; }},
      {kChat, R"("messages":null,"prompt_token_ids":[1,2])",
       [](R r) { return r.chat_tokens == std::vector<int32_t>{1, 2} && r.chat.messages.empty(); }},
      {kText, R"("ignore_eos":true)", [](R r) { return r.ignore_eos; }},
      {kText, R"("max_tokens":7.0)", [](R r) { return r.output_tokens_max == 7; }},
      {kText, R"("max_tokens":0,"echo":true)",
       [](R r) { return r.output_tokens_max == 0 && r.echo; }},
      {kText, R"("logprobs":0)", [](R r) { return r.logprobs_top == 0; }},
      {kText, R"("logprobs":20)", [](R r) { return r.logprobs_top == 20; }},
      {kText, R"("best_of":3,"n":3)", [](R r) { return r.choices == 3; }},
      {kText, R"("suffix":"")", [](R r) { return r.choices == 1; }},

      {kChat, R"("max_completion_tokens":7)", [](R r) { return r.output_tokens_max == 7; }},
      {kChat, R"("max_completion_tokens":7,"max_tokens":7)",
       [](R r) { return r.output_tokens_max == 7; }},
      {kChat, R"("logprobs":true)", [](R r) { return r.logprobs_top == 0; }},
      {kChat, R"("logprobs":true,"top_logprobs":20)", [](R r) { return r.logprobs_top == 20; }},
      {kChat, R"("top_logprobs":2,"logprobs":true)", [](R r) { return r.logprobs_top == 2; }},
      {kChat, R"("logprobs":false,"top_logprobs":0)",
       [](R r) { return r.logprobs_top == std::nullopt; }},
      {kChat, R"("chat_template_kwargs":{"enable_thinking":false})",
       [](R r) { return r.chat.template_arguments == json::object{{"enable_thinking", false}}; }},
      {kChat, R"("chat_template_kwargs":{"add_generation_prompt":true})",
       [](R r) { return r.chat.template_arguments.size() == 1; }},
      {kChat, R"("reasoning_effort":"low","chat_template_kwargs":{"a":1})",
       [](R r) {
         return r.chat.template_arguments == json::object{{"a", 1}} &&
                r.chat.wishes == json::object{{"reasoning_effort", "low"}};
       }},
      {kChat, R"("reasoning_effort":"low","chat_template_kwargs":{"reasoning_effort":"low"})",
       [](R r) { return r.chat.template_arguments == json::object{{"reasoning_effort", "low"}}; }},
      {kChat, R"("tools":[{"type":"function","function":{"name":"f","strict":true}}])",
       [](R r) {
         return json::value(r.chat.tools) ==
                json::parse(R"([{"type":"function","function":{"name":"f","strict":true}}])");
       }},
      {kChat, R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto")",
       [](R r) { return r.chat.tools.size() == 1; }},
      {kChat, R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required")",
       [](R r) { return r.chat.tool_choice.use == ToolUse::kRequired; }},
      {kChat,
       R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required",)"
       R"("response_format":{"type":"json_object"},"max_reasoning_tokens":0)",
       [](R r) { return !r.structured && r.reasoning_tokens_max == 0; }},
      {kChat,
       R"("tools":[{"type":"function","function":{"name":"f"}}],)"
       R"("response_format":{"type":"json_object"},"max_reasoning_tokens":9)",
       [](R r) { return r.structured && r.chat.tools.size() == 1 && r.reasoning_tokens_max == 9; }},
      {kChat,
       R"("tools":[{"type":"function","function":{"name":"f"}}],)"
       R"("tool_choice":{"type":"function","function":{"name":"f"}})",
       [](R r) { return r.chat.tool_choice == ToolChoice{.use = ToolUse::kNamed, .name = "f"}; }},
      {kChat, R"("tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}])",
       [](R r) { return r.chat.tools.empty(); }},
      {kChat,
       R"("tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false)",
       [](R r) { return !r.chat.tool_choice.parallel; }},
      {kChat, R"("tools_property_order":"any")", [](R r) { return r.chat.tool_choice.any_order; }},
      {kChat, R"("stream":false,"stream_options":null,"response_format":{"type":"text"})",
       [](R r) { return r.choices == 1; }},
      {kChat, R"("response_format":{"type":"json_object"})",
       [](R r) { return r.structured->kind == StructureSpec::Kind::kJsonObject; }},
      {kChat, R"("structured_outputs":{"regex":"a"})",
       [](R r) { return r.structured->text == "a"; }},
      {kChat, R"("guided_json":{})", [](R r) { return r.structured->text == "{}"; }},
      {kText, R"("guided_regex":"a")", [](R r) { return r.structured->text == "a"; }},
      {kText, R"("guided_choice":["a"])", [](R r) { return r.structured->choices[0] == "a"; }},
      {kText, R"("schema_unknown":"refuse")",
       [](R r) { return r.schema_unknown == UnknownWords::kRefuse; }},
      {kText, R"("guided_grammar":"g")", [](R r) { return r.structured->text == "g"; }},
      {kText, R"("json_schema":true)", [](R r) { return r.structured->text == "true"; }},
      {kText, R"("grammar":"g")", [](R r) { return r.structured->text == "g"; }},
      {kChat, R"("modalities":["text"],"length_penalty":1.0,"made_up":null)",
       [](R r) { return r.choices == 1; }},

      {kText, R"("prompt":"")",
       [](R r) { return r.inputs == std::vector<Input>{Input{.text = "", .tokens = {}}}; }},
      {kText, R"("prompt":["a","b"])",
       [](R r) {
         return r.inputs ==
                std::vector<Input>{{.text = "a", .tokens = {}}, {.text = "b", .tokens = {}}};
       }},
      {kText, R"("prompt":[1,2.0])",
       [](R r) { return r.inputs == std::vector<Input>{{.text = "", .tokens = {1, 2}}}; }},
      {kEmbed, R"("input":[[1],[2147483647,0]])",
       [](R r) {
         return r.inputs == std::vector<Input>{{.text = "", .tokens = {1}},
                                               {.text = "", .tokens = {2147483647, 0}}};
       }},
      {kEmbed, R"("dimensions":256)", [](R r) { return r.dimensions == 256; }},
      {kEmbed, R"("encoding_format":"base64")", [](R r) { return r.base64; }},
      {kEmbed, R"("encoding_format":"float")", [](R r) { return !r.base64; }},

      {kRank, R"("documents":["a",{"text":"b","title":null}])",
       [](R r) {
         return r.query == "q" && r.inputs == std::vector<Input>{{.text = "a", .tokens = {}},
                                                                 {.text = "b", .tokens = {}}};
       }},
      {kRank, R"("top_n":2)", [](R r) { return r.results_max == 2; }},
      {kRank, R"("return_documents":true)", [](R r) { return r.return_documents; }},
  };
  return kGood;
}

TEST(RequestFields, EveryHonouredFieldArrives) {
  for (const Good& good : good_fields())
    EXPECT_TRUE(good.arrived(accepted(good.endpoint, good.fields))) << good.fields;
}

struct Bad {
  Endpoint endpoint;
  std::string_view fields;
  std::string_view param;
  std::string_view message;
};

const std::vector<Bad>& bad_fields() {
  static const std::vector<Bad> kBad = {
      {kText, R"("model":7)", "model", "model must be a string, not a number"},
      {kText, R"("temperature":3)", "temperature", "temperature is 3; it must be from 0 to 2"},
      {kText, R"("temperature":1e999)", "temperature",
       "temperature is inf; it must be from 0 to 2"},
      {kText, R"("temperature":"1")", "temperature",
       "temperature must be a number from 0 to 2, not a string"},
      {kText, R"("top_p":0)", "top_p",
       "top_p is 0; it must be above 0 (use temperature 0 for greedy)"},
      {kText, R"("top_p":1e-60)", "top_p",
       "top_p is 0; it must be above 0 (use temperature 0 for greedy)"},
      {kText, R"("top_p":1.5)", "top_p", "top_p is 1.5; it must be from 0 to 1"},
      {kText, R"("top_k":-2)", "top_k", "top_k is -2; it must be from -1 to 2147483647"},
      {kText, R"("min_p":true)", "min_p", "min_p must be a number from 0 to 1, not a boolean"},
      {kText, R"("typical_p":0)", "typical_p",
       "typical_p is 0; it must be above 0 (use temperature 0 for greedy)"},
      {kText, R"("presence_penalty":2.5)", "presence_penalty",
       "presence_penalty is 2.5; it must be from -2 to 2"},
      {kText, R"("frequency_penalty":{})", "frequency_penalty",
       "frequency_penalty must be a number from -2 to 2, not an object"},
      {kText, R"("repetition_penalty":0)", "repetition_penalty",
       "repetition_penalty is 0; it must be from 0.01 to 10"},
      {kText, R"("repeat_penalty":-1)", "repeat_penalty",
       "repeat_penalty is -1; it must be from 0.01 to 10"},
      {kText, R"("repeat_penalty":1.5,"repetition_penalty":1.25)", "repeat_penalty",
       "repetition_penalty is 1.25 and repeat_penalty, another name of it, is 1.5; give one of "
       "them"},
      {kText, R"("logit_bias":[])", "logit_bias",
       "logit_bias must be an object of token ids and numbers, such as {\"1234\": -100}, not an "
       "empty array"},
      {kText, R"("logit_bias":{"x":1})", "logit_bias",
       "logit_bias has the key \"x\"; a key must be a token id, such as \"1234\""},
      {kText, R"("logit_bias":{"":1})", "logit_bias",
       "logit_bias has the key \"\"; a key must be a token id, such as \"1234\""},
      {kText, R"("logit_bias":{"-1":1})", "logit_bias",
       "logit_bias has the key \"-1\"; a key must be a token id, such as \"1234\""},
      {kText, R"("logit_bias":{"1.5":1})", "logit_bias",
       "logit_bias has the key \"1.5\"; a key must be a token id, such as \"1234\""},
      {kText, R"("logit_bias":{"01":1})", "logit_bias",
       "logit_bias has the key \"01\"; a key must be a token id, such as \"1234\""},
      {kText, R"("logit_bias":{"5":101})", "logit_bias[\"5\"]",
       "logit_bias[\"5\"] is 101; it must be from -100 to 100"},
      {kText, R"("seed":1.5)", "seed",
       "seed must be a whole number from -9223372036854775808 to 18446744073709551615, not 1.5"},
      {kText, R"("stop":[""])", "stop",
       "stop must be a string that is not empty, or an array of such"},
      {kText, R"("stop":7)", "stop",
       "stop must be a string that is not empty, or an array of such"},
      {kText, R"("stop":["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"])",
       "stop", "stop has 17 texts; at most 16 are accepted"},
      {kText, R"("n":0)", "n", "n is 0; it must be from 1 to 128"},
      {kText, R"("n":129)", "n", "n is 129; it must be from 1 to 128"},
      {kText, R"("stop_token_ids":7)", "stop_token_ids",
       "stop_token_ids must be an array of token ids, not a number"},
      {kChat, R"("stop_token_ids":[-1])", "stop_token_ids[0]",
       "stop_token_ids[0] is -1; it must be from 0 to 2147483647"},
      {kChat, R"("prompt_logprobs":21)", "prompt_logprobs",
       "prompt_logprobs is 21; it must be from 0 to 20"},
      {kChat, R"("return_token_ids":1)", "return_token_ids",
       "return_token_ids must be true or false, not a number"},
      {kChat, R"("prompt_token_ids":"hi")", "prompt_token_ids",
       "prompt_token_ids must be an array of token ids, not a string"},
      {kChat, R"("prompt_token_ids":[])", "prompt_token_ids",
       "prompt_token_ids is an empty array; it must have at least one element"},
      {kText, R"("ignore_eos":1)", "ignore_eos", "ignore_eos must be true or false, not a number"},
      {kText, R"("max_tokens":0)", "max_tokens",
       "max_tokens is 0, which scores a prompt and needs echo: true or prompt_logprobs; without "
       "them "
       "it must be 1 or "
       "more"},
      {kText, R"("max_tokens":-1)", "max_tokens",
       "max_tokens is -1; it must be from 0 to 2147483647"},
      {kText, R"("max_completion_tokens":1)", "max_completion_tokens",
       "max_completion_tokens belongs to /v1/chat/completions, not to /v1/completions"},
      {kText, R"("echo":1)", "echo", "echo must be true or false, not a number"},
      {kText, R"("logprobs":true)", "logprobs",
       "logprobs must be a whole number from 0 to 20, not a boolean"},
      {kText, R"("logprobs":21)", "logprobs", "logprobs is 21; it must be from 0 to 20"},
      {kText, R"("best_of":2)", "best_of",
       "best_of is 2 and n is 1; they must be the same, because answers are not ranked: ask for "
       "more with n"},
      {kText, R"("suffix":"x")", "suffix",
       "suffix must be \"\", or absent: this version writes only what follows a prompt"},
      {kText, R"("stream":true)", "stream",
       "stream must be false, or absent: a result is written when it is whole"},
      {kText, R"("prompt":[])", "prompt",
       "prompt is an empty array; it must have at least one element"},
      {kText, R"("prompt":[[]])", "prompt[0]",
       "prompt[0] is an empty array; it must have at least one element"},
      {kText, R"("prompt":7)", "prompt",
       "prompt must be a string, an array of strings, an array of token ids or an array of such "
       "arrays, not a number"},
      {kText, R"("prompt":[true])", "prompt[0]",
       "prompt[0] must be a string, a token id or an array of token ids, not a boolean"},
      {kText, R"("prompt":["a",1])", "prompt[1]",
       "prompt[1] must be a string, as the first element is, not a number"},
      {kText, R"("prompt":[[1],"a"])", "prompt[1]",
       "prompt[1] must be an array of token ids, as the first element is, not a string"},
      {kText, R"("prompt":[1,-1])", "prompt[1]",
       "prompt[1] is -1; it must be from 0 to 2147483647"},
      {kText, R"("prompt":[[1,"x"]])", "prompt[0][1]",
       "prompt[0][1] must be a whole number from 0 to 2147483647, not a string"},
      {kText, R"("prompt":[1.5])", "prompt[0]",
       "prompt[0] must be a whole number from 0 to 2147483647, not 1.5"},

      {kChat, R"("max_tokens":0)", "max_tokens",
       "max_tokens is 0; it must be from 1 to 2147483647"},
      {kChat, R"("max_completion_tokens":0)", "max_completion_tokens",
       "max_completion_tokens is 0; it must be from 1 to 2147483647"},
      {kChat, R"("max_completion_tokens":6,"max_tokens":5)", "max_completion_tokens",
       "max_tokens is 5 and max_completion_tokens is 6; give one of them"},
      {kChat, R"("logprobs":5)", "logprobs", "logprobs must be true or false, not a number"},
      {kChat, R"("top_logprobs":5)", "top_logprobs",
       "top_logprobs is 5 and logprobs is not true; set logprobs to true, or take top_logprobs "
       "out"},
      {kChat, R"("logprobs":true,"top_logprobs":21)", "top_logprobs",
       "top_logprobs is 21; it must be from 0 to 20"},
      {kChat, R"("tools":{})", "tools", "tools must be an array of tools, not an object"},
      {kChat, R"("tools":["f"])", "tools[0]",
       "tools[0] must be an object with type and function, not a string"},
      {kChat, R"("tools":[{}])", "tools[0].type",
       "tools[0] has no type; tools[0].type must be \"function\""},
      {kChat, R"("tools":[{"type":"custom"}])", "tools[0].type",
       "tools[0].type is \"custom\"; only \"function\" is accepted"},
      {kChat, R"("tools":[{"type":"function"}])", "tools[0].function",
       "tools[0] has no function; tools[0].function must be an object"},
      {kChat, R"("tools":[{"type":"function","function":{"name":""}}])", "tools[0].function.name",
       "tools[0].function has no name; it must be a string that is not empty"},
      {kChat, R"("max_reasoning_tokens":5)", "max_reasoning_tokens",
       "max_reasoning_tokens is only supported beside response_format or a tool_choice that wants "
       "a call; take it out, or lower max_tokens"},
      {kChat,
       R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required",)"
       R"("ignore_eos":true)",
       "ignore_eos",
       "ignore_eos is true beside tool_choice, which wants a call; an answer ends behind its "
       "calls: take one of them out"},
      {kChat, R"("tool_choice":"required")", "tool_choice",
       "tool_choice wants a call and there are no tools; give tools, or take it out"},
      {kChat,
       R"("tools":[{"type":"function","function":{"name":"f"}}],)"
       R"("tool_choice":{"type":"function","function":{"name":"g"}})",
       "tool_choice", "tool_choice names \"g\", which is none of the tools"},
      {kChat, R"("tool_choice":{"type":"allowed_tools","allowed_tools":{}})", "tool_choice",
       "tool_choice of the type allowed_tools is not supported; give only the tools that may be "
       "called in tools"},
      {kChat, R"("tool_choice":{"type":"custom"})", "tool_choice.type",
       "tool_choice is an object; tool_choice.type must be \"function\""},
      {kChat, R"("tool_choice":{"type":"function","name":"f"})", "tool_choice.function.name",
       "tool_choice.function.name is missing; it must name one of the tools"},
      {kChat, R"("tool_choice":"any")", "tool_choice",
       "tool_choice is \"any\"; it must be \"auto\", \"none\", \"required\" or {\"type\": "
       "\"function\", \"function\": {\"name\": ...}}"},
      {kChat, R"("tool_choice":7)", "tool_choice",
       "tool_choice must be \"auto\", \"none\", \"required\" or {\"type\": \"function\", "
       "\"function\": {\"name\": ...}}, not a number"},
      {kChat, R"("parallel_tool_calls":0)", "parallel_tool_calls",
       "parallel_tool_calls must be true or false, not a number"},
      {kChat, R"("tools_property_order":true)", "tools_property_order",
       "tools_property_order must be \"definition\" or \"any\""},
      {kChat, R"("chat_template_kwargs":"x")", "chat_template_kwargs",
       "chat_template_kwargs must be an object, such as {\"enable_thinking\": false}, not a "
       "string"},
      {kChat, R"("chat_template_kwargs":{"tools":[]})", "chat_template_kwargs.tools",
       "chat_template_kwargs.tools is not accepted: it would replace what the body has; give it "
       "there"},
      {kChat, R"("chat_template_kwargs":{"add_generation_prompt":false})",
       "chat_template_kwargs.add_generation_prompt",
       "chat_template_kwargs.add_generation_prompt is not accepted: a chat is always answered"},
      {kChat, R"("chat_template_kwargs":{"eos_token":"x"})", "chat_template_kwargs.eos_token",
       "chat_template_kwargs.eos_token is not accepted: the model's own is used"},
      {kChat, R"("chat_template_kwargs":{"bos_token":"x"})", "chat_template_kwargs.bos_token",
       "chat_template_kwargs.bos_token is not accepted: the model's own is used"},
      {kChat, R"("reasoning_effort":"")", "reasoning_effort",
       "reasoning_effort is \"\"; it must be none, minimal, low, medium, high, xhigh or max"},
      {kChat, R"("reasoning_effort":"deep")", "reasoning_effort",
       "reasoning_effort is \"deep\"; it must be none, minimal, low, medium, high, xhigh or max"},
      {kChat, R"("reasoning_effort":3)", "reasoning_effort",
       "reasoning_effort must be a string, not a number"},
      {kChat, R"("reasoning_effort":"low","chat_template_kwargs":{"reasoning_effort":"high"})",
       "reasoning_effort",
       "reasoning_effort is given in the body and in chat_template_kwargs, and they differ; give "
       "one of them"},
      {kChat, R"("response_format":7)", "response_format",
       "response_format must be an object, such as {\"type\": \"json_object\"}, not a number"},
      {kChat, R"("structured_outputs":7)", "structured_outputs",
       "structured_outputs must be an object, such as {\"json\": {...}}, not a number"},
      {kText, R"("guided_json":7)", "guided_json",
       "guided_json must be a JSON Schema, which is an object, not a number"},
      {kText, R"("guided_regex":7)", "guided_regex",
       "guided_regex must be a string that is not empty, not a number"},
      {kText, R"("guided_choice":7)", "guided_choice",
       "guided_choice must be an array of strings, such as [\"yes\", \"no\"], not a number"},
      {kText, R"("schema_unknown":7)", "schema_unknown",
       "schema_unknown must be \"annotate\" or \"refuse\""},
      {kText, R"("guided_grammar":7)", "guided_grammar",
       "guided_grammar must be a string that is not empty, not a number"},
      {kText, R"("json_schema":7)", "json_schema",
       "json_schema must be a JSON Schema, which is an object, not a number"},
      {kText, R"("grammar":7)", "grammar",
       "grammar must be a string that is not empty, not a number"},
      {kChat, R"("format":"json")", "format",
       "format is not supported, so remove it: give response_format"},
      {kChat, R"("audio":{"voice":"x"})", "audio",
       "audio is not supported, so remove it: an answer is a text"},
      {kChat, R"("length_penalty":1.5)", "length_penalty",
       "length_penalty must be 1, or absent: it belongs to beam search"},
      {kChat, R"("prompt":"x")", "prompt",
       "prompt belongs to /v1/completions, not to /v1/chat/completions"},
      {kChat, R"("made_up":1)", "made_up",
       "\"made_up\" is not a field that /v1/chat/completions supports; remove it"},
      {kChat, R"("temprature":1)", "temprature",
       "\"temprature\" is not a field that /v1/chat/completions supports; did you mean "
       "temperature?"},
      {kChat, R"("":1)", "", "\"\" is not a field that /v1/chat/completions supports; remove it"},

      {kEmbed, R"("input":"")", "input", "input is an empty string; it must have text to embed"},
      {kEmbed, R"("input":["a",""])", "input[1]",
       "input[1] is an empty string; it must have text to embed"},
      {kEmbed, R"("input":[])", "input",
       "input is an empty array; it must have at least one element"},
      {kEmbed, R"("dimensions":0)", "dimensions",
       "dimensions is 0; it must be from 1 to 2147483647"},
      {kEmbed, R"("encoding_format":"hex")", "encoding_format",
       "encoding_format is \"hex\"; it must be \"float\" or \"base64\""},
      {kEmbed, R"("encoding_format":1)", "encoding_format",
       "encoding_format must be a string, not a number"},
      {kEmbed, R"("temperature":1)", "temperature",
       "temperature belongs to /v1/chat/completions and /v1/completions, not to /v1/embeddings"},
      {kEmbed, R"("input_type":"query")", "input_type",
       "input_type is not supported, so remove it: texts are taken as they are; write the prefix "
       "into them"},

      {kRank, R"("query":"")", "query",
       "query must be a string that is not empty, not an empty string"},
      {kRank, R"("query":["q"])", "query",
       "query must be a string that is not empty, not an array"},
      {kRank, R"("documents":[])", "documents",
       "documents must be an array of at least one string or {\"text\": \"...\"}, not an empty "
       "array"},
      {kRank, R"("documents":["a",7])", "documents[1]",
       "documents[1] must be a string or an object with a text, not a number"},
      {kRank, R"("documents":[{}])", "documents[0]",
       "documents[0] has no text; it must be a string or {\"text\": \"...\"}"},
      {kRank, R"("documents":[{"text":7}])", "documents[0].text",
       "documents[0].text must be a string, not a number"},
      {kRank, R"("documents":[{"text":"a","title":"b"}])", "documents[0].title",
       "documents[0].title is not supported; a document has a text"},
      {kRank, R"("top_n":0)", "top_n", "top_n is 0; it must be from 1 to 2147483647"},
      {kRank, R"("return_documents":"yes")", "return_documents",
       "return_documents must be true or false, not a string"},
  };
  return kBad;
}

TEST(RequestFields, WhatCannotBeAcceptedIsNamedWithWhatCould) {
  for (const Bad& bad : bad_fields()) {
    const Failure failure = refused(bad.endpoint, bad.fields);
    EXPECT_EQ(failure.status, 400) << bad.fields;
    EXPECT_EQ(failure.failure_class, FailureClass::kRequest) << bad.fields;
    EXPECT_EQ(failure.param, bad.param) << bad.fields;
    EXPECT_EQ(failure.message, bad.message) << bad.fields;
  }
}

// The two tables above leave out no field.
TEST(RequestFields, EveryFieldWithAReaderIsTried) {
  const auto tried = [](std::string_view fields, std::string_view name) {
    return fields.find(fmt::format("\"{}\":", name)) != std::string_view::npos;
  };
  for (const FieldRule& rule : field_rules()) {
    if (rule.use != FieldUse::kHonoured || rule.name == "messages") continue;
    bool good_tried = false;
    for (const Good& good : good_fields()) {
      good_tried =
          good_tried || (rule.endpoints.contains(good.endpoint) && tried(good.fields, rule.name));
    }
    bool bad_tried = false;
    for (const Bad& bad : bad_fields())
      bad_tried =
          bad_tried || (rule.endpoints.contains(bad.endpoint) && tried(bad.fields, rule.name));
    EXPECT_TRUE(good_tried || rule.name == "query") << rule.name;
    EXPECT_TRUE(bad_tried) << rule.name;
  }
}

TEST(RequestFields, EveryFieldWithoutEffectIsAccepted) {
  for (const FieldRule& rule : field_rules()) {
    if (rule.use != FieldUse::kWithoutEffect) continue;
    for (const Endpoint endpoint : endpoints()) {
      if (!rule.endpoints.contains(endpoint)) continue;
      const std::string_view value = rule.values == "anything" ? R"({"a":["x"]})" : "true";
      accepted(endpoint, fmt::format(R"("{}":{})", rule.name, value));
    }
  }
}

TEST(RequestFields, EveryRefusedFieldTakesOnlyWhatItsRowSays) {
  for (const FieldRule& rule : field_rules()) {
    if (rule.use != FieldUse::kRefused) continue;
    EXPECT_FALSE(rule.instead.empty()) << rule.name;
    for (const Endpoint endpoint : endpoints()) {
      if (!rule.endpoints.contains(endpoint)) continue;
      const Failure failure = refused(endpoint, fmt::format(R"("{}":{{"x":1}})", rule.name));
      EXPECT_EQ(failure.param, rule.name);
      EXPECT_TRUE(failure.message.starts_with(rule.name)) << failure.message;
      if (rule.values.empty() || rule.name == "best_of") continue;
      accepted(endpoint, fmt::format(R"("{}":{})", rule.name, rule.values));
    }
  }
}

}  // namespace
}  // namespace windrow::llm
