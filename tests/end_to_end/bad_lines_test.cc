// A bad line costs one line: each kind of it gets its status, code, message, param and line, and
// the rows around it are answered.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;

struct BadLine {
  std::string line;  // without its end
  int status;        // 0: the line never became a request, so there is no response
  std::string code;
  std::string param;    // empty: null
  std::string message;  // LINE stands for the number of the line
};

// With the custom_id "bad", which the test makes one of its own.
BadLine chat_with(std::string_view field, std::string_view value, std::string code,
                  std::string param, std::string message) {
  return {fmt::format(R"({{"custom_id":"bad","method":"POST","url":"/v1/chat/completions",)"
                      R"("body":{{"model":"tiny","messages":[{{"role":"user","content":"a"}}],)"
                      R"("{}":{}}}}})",
                      field, value),
          400, std::move(code), std::move(param), std::move(message)};
}

BadLine bad_messages(std::string_view messages, std::string code, std::string param,
                     std::string message) {
  return {fmt::format(R"({{"custom_id":"bad","method":"POST","url":"/v1/chat/completions",)"
                      R"("body":{{"model":"tiny","messages":{}}}}})",
                      messages),
          400, std::move(code), std::move(param), std::move(message)};
}

BadLine bad_completion(std::string_view fields, std::string code, std::string param,
                       std::string message) {
  return {fmt::format(R"({{"custom_id":"bad","method":"POST","url":"/v1/completions",)"
                      R"("body":{{"model":"tiny",{}}}}})",
                      fields),
          400, std::move(code), std::move(param), std::move(message)};
}

std::string deep(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

std::vector<BadLine> bad_lines() {
  const std::string value = "invalid_value";
  const std::string unsupported = "unsupported_parameter";
  return {
      // lines that never become requests
      {R"({"custom_id": "cut)", 0, "invalid_json_line", "",
       "line LINE is not one JSON value: incomplete JSON near byte 19; write one request per line"},
      {"not json", 0, "invalid_json_line", "",
       "line LINE is not one JSON value: syntax error near byte 1; write one request per line"},
      {R"({} {})", 0, "invalid_json_line", "",
       "line LINE is not one JSON value: extra data near byte 4; write one request per line"},
      {"{\"custom_id\": \"\xFF\xFE\"}", 0, "invalid_json_line", "",
       "line LINE is not UTF-8 (near byte 16); save the file as UTF-8, or write what is not ASCII "
       "as "
       "\\u escapes"},
      {std::string("{\"custom_id\": \"a\0b\"}", 20), 0, "invalid_json_line", "",
       "line LINE is not one JSON value: syntax error near byte 17; write one request per line"},
      {deep(100'000), 0, "invalid_json_line", "",
       "line LINE is nested more than 128 deep; flatten its body"},
      {"42", 0, "invalid_json_line", "",
       "line LINE is not a JSON object; a request is {\"custom_id\", \"method\", \"url\", "
       "\"body\"}"},
      {"null", 0, "invalid_json_line", "",
       "line LINE is not a JSON object; a request is {\"custom_id\", \"method\", \"url\", "
       "\"body\"}"},
      {R"(["custom_id"])", 0, "invalid_json_line", "",
       "line LINE is not a JSON object; a request is {\"custom_id\", \"method\", \"url\", "
       "\"body\"}"},
      {"{}", 0, "missing_custom_id", "custom_id",
       "line LINE has no custom_id; give each line one of its own"},
      {R"({"custom_id": 7})", 0, "invalid_custom_id", "custom_id",
       "the custom_id of line LINE must be a string that is not empty"},
      {R"({"custom_id": ""})", 0, "invalid_custom_id", "custom_id",
       "the custom_id of line LINE must be a string that is not empty"},
      {R"({"custom_id": null})", 0, "invalid_custom_id", "custom_id",
       "the custom_id of line LINE must be a string that is not empty"},

      // the envelope
      {R"({"custom_id":"bad","method":"GET","url":"/v1/completions","body":{}})", 400,
       "invalid_method", "method", "method must be \"POST\""},
      {R"({"custom_id":"bad","method":"POST","body":{}})", 400, "missing_url", "url",
       "the line has no url; it must be /v1/responses, /v1/messages, /v1/chat/completions, "
       "/v1/completions, /v1/embeddings or "
       "/v1/rerank"},
      {R"({"custom_id":"bad","method":"POST","url":"/v1/images","body":{}})", 404, "unknown_url",
       "url",
       "url is \"/v1/images\"; it must be /v1/responses, /v1/messages, /v1/chat/completions, "
       "/v1/completions, /v1/embeddings "
       "or "
       "/v1/rerank"},
      {R"({"custom_id":"bad","method":"POST","url":"/v1/completions"})", 400, "missing_body",
       "body", "the line has no body; it must be an object"},
      {R"({"custom_id":"bad","method":"POST","url":"/v1/completions","body":"text"})", 400,
       "missing_body", "body", "the line has no body; it must be an object"},

      // the model
      {R"({"custom_id":"bad","method":"POST","url":"/v1/completions","body":{"prompt":"a"}})", 400,
       "missing_required_parameter", "model", "the body has no model; the only model is tiny"},
      {R"({"custom_id":"bad","method":"POST","url":"/v1/completions",)"
       R"("body":{"model":"gpt-4o","prompt":"a"}})",
       404, "model_not_found", "model", "there is no model \"gpt-4o\"; the only model is tiny"},
      chat_with("model", "7", value, "model", "model must be a string, not a number"),

      // messages
      {R"({"custom_id":"bad","method":"POST","url":"/v1/chat/completions",)"
       R"("body":{"model":"tiny"}})",
       400, "missing_required_parameter", "messages",
       "the body has no messages, which /v1/chat/completions needs"},
      bad_messages("[]", value, "messages",
                   "messages must be an array with at least one message, not an empty array"),
      bad_messages("\"hello\"", value, "messages",
                   "messages must be an array with at least one message, not a string"),
      bad_messages("[7]", value, "messages[0]",
                   "messages[0] must be an object with role and content, not a number"),
      bad_messages(R"([{"role":"user"}])", value, "messages[0].content",
                   "messages[0] has no content; it must be a string or an array of text parts"),
      bad_messages(R"([{"role":"user","content":"a"},{"role":"bot","content":"b"}])", value,
                   "messages[1].role",
                   "messages[1].role is \"bot\"; it must be system, developer, user, assistant or "
                   "tool"),
      bad_messages(R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
                   unsupported, "messages[0].content[0]",
                   "messages[0].content[0] is of type image_url; only text parts are accepted"),
      bad_messages(R"([{"role":"assistant","content":"a","tool_calls":[{}]}])", value,
                   "messages[0].tool_calls[0].type",
                   "messages[0].tool_calls[0] has no type; messages[0].tool_calls[0].type must be "
                   "\"function\""),

      // parameters
      chat_with("temperature", "3", value, "temperature",
                "temperature is 3; it must be from 0 to 2"),
      chat_with("temperature", "\"hot\"", value, "temperature",
                "temperature must be a number from 0 to 2, not a string"),
      chat_with("top_p", "0", value, "top_p",
                "top_p is 0; it must be above 0 (use temperature 0 for greedy)"),
      chat_with("top_p", "1.5", value, "top_p", "top_p is 1.5; it must be from 0 to 1"),
      chat_with("top_k", "-2", value, "top_k", "top_k is -2; it must be from -1 to 2147483647"),
      chat_with("min_p", "2", value, "min_p", "min_p is 2; it must be from 0 to 1"),
      chat_with("max_tokens", "0", value, "max_tokens",
                "max_tokens is 0; it must be from 1 to 2147483647"),
      chat_with("max_tokens", "1.5", value, "max_tokens",
                "max_tokens must be a whole number from 1 to 2147483647, not 1.5"),
      chat_with("max_tokens\":5,\"max_completion_tokens", "6", value, "max_completion_tokens",
                "max_tokens is 5 and max_completion_tokens is 6; give one of them"),
      chat_with(
          "seed", "1.5", value, "seed",
          "seed must be a whole number from -9223372036854775808 to 18446744073709551615, not "
          "1.5"),
      chat_with("stop", "\"\"", value, "stop",
                "stop must be a string that is not empty, or an array of such"),
      chat_with("stop", "[\"a\", 7]", value, "stop",
                "stop must be a string that is not empty, or an array of such"),
      chat_with("ignore_eos", "1", value, "ignore_eos",
                "ignore_eos must be true or false, not a number"),
      chat_with("n", "0", value, "n", "n is 0; it must be from 1 to 128"),
      chat_with("stream", "true", unsupported, "stream",
                "stream must be false, or absent: a result is written when it is whole"),
      chat_with("tools", R"([{"type":"function"}])", value, "tools[0].function",
                "tools[0] has no function; tools[0].function must be an object"),
      chat_with("tool_choice", "\"required\"", value, "tool_choice",
                "tool_choice wants a call and there are no tools; give tools, or take it out"),
      chat_with("response_format", R"({"type":"json"})", value, "response_format.type",
                "response_format.type is \"json\"; it must be \"text\", \"json_schema\", "
                "\"json_object\", \"regex\", \"grammar\" or \"choice\""),
      chat_with("presence_penalty", "2.5", value, "presence_penalty",
                "presence_penalty is 2.5; it must be from -2 to 2"),
      chat_with("repetition_penalty", "0", value, "repetition_penalty",
                "repetition_penalty is 0; it must be from 0.01 to 10"),
      chat_with("logit_bias", R"({"five": 1})", value, "logit_bias",
                "logit_bias has the key \"five\"; a key must be a token id, such as \"1234\""),
      chat_with("logprobs", "1", value, "logprobs", "logprobs must be true or false, not a number"),
      chat_with("top_logprobs", "2", value, "top_logprobs",
                "top_logprobs is 2 and logprobs is not true; set logprobs to true, or take "
                "top_logprobs out"),
      chat_with("temprature", "0", unsupported, "temprature",
                "\"temprature\" is not a field that /v1/chat/completions supports; did you mean "
                "temperature?"),
      chat_with("prompt", "\"a\"", unsupported, "prompt",
                "prompt belongs to /v1/completions, not to /v1/chat/completions"),
      bad_completion(R"("messages":[])", "missing_required_parameter", "prompt",
                     "the body has no prompt, which /v1/completions needs"),
      bad_completion(R"("prompt":["a",2])", value, "prompt[1]",
                     "prompt[1] must be a string, as the first element is, not a number"),
      bad_completion(R"("prompt":"")", "empty_prompt", "prompt",
                     "the prompt has no tokens; there is nothing to go on from"),
      bad_completion(R"("prompt":"a","max_tokens":0)", value, "max_tokens",
                     "max_tokens is 0, which scores a prompt and needs echo: true or "
                     "prompt_logprobs; without them it must be 1 or more"),
      bad_completion(R"("prompt":"a","best_of":3)", unsupported, "best_of",
                     "best_of is 3 and n is 1; they must be the same, because answers are not "
                     "ranked: ask for more with n"),
      // digits are one token each
      bad_completion(fmt::format(R"("prompt":"{}")", std::string(5000, '7')),
                     "context_length_exceeded", "prompt",
                     "this model's maximum context length is 4096 tokens, and the prompt has 5000 "
                     "tokens, of which at most 4095 fit beside an answer; shorten it"),
  };
}

std::string with_number(std::string text, size_t number) {
  const size_t at = text.find("LINE");
  if (at != std::string::npos) text.replace(at, 4, std::to_string(number));
  return text;
}

std::string with_id(std::string line, size_t number) {
  const size_t at = line.find("\"bad\"");
  if (at != std::string::npos) line.replace(at, 5, fmt::format("\"bad-{}\"", number));
  return line;
}

// The bad lines, good rows at the front, in the middle and at the end, and twice a name again.
struct Input {
  std::string text;
  std::vector<BadLine> bad;         // in the order of the input
  std::vector<size_t> bad_numbers;  // their lines
  size_t lines = 0;

  void add_good(const std::string& line) {
    text += line;
    ++lines;
  }
  void add_bad(BadLine line) {
    ++lines;
    line.line = with_id(line.line, lines);
    line.message = with_number(line.message, lines);
    text += line.line + "\n";
    bad_numbers.push_back(lines);
    bad.push_back(std::move(line));
  }
};

std::string good_row(std::string_view id) {
  return completion_line(id, "the house", {{"model", "tiny"}, {"max_tokens", 2}});
}

Input make_input() {
  Input input;
  input.add_good(good_row("first"));
  const std::vector<BadLine> lines = bad_lines();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i == lines.size() / 2) input.add_good(good_row("middle"));
    input.add_bad(lines[i]);
  }
  for (int i = 0; i < 2; ++i) {
    std::string again = good_row("first");
    again.pop_back();
    input.add_bad({again, 0, "duplicate_custom_id", "custom_id",
                   "line LINE has the custom_id \"first\", which an earlier line has; that one is "
                   "answered"});
  }
  input.add_good(good_row("last"));
  return input;
}

const Words kRun = {"run", "requests.jsonl", "-o", "results.jsonl", "--model", "tiny=model.gguf"};

std::string in_quotes(const std::string& text) {
  return boost::json::serialize(boost::json::string(text));
}

TEST(BadLines, CostOneLineEach) {
  const Input input = make_input();
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.write("requests.jsonl", input.text);
  const Ended ended = folder.windrow(kRun);
  EXPECT_EQ(ended.code, 1) << ended;

  std::vector<std::string> answered = custom_ids(read_log(folder, "results.jsonl"));
  std::sort(answered.begin(), answered.end());
  EXPECT_EQ(answered, (Words{"first", "last", "middle"}));

  std::vector<LogLine> errors = read_log(folder, "results.errors.jsonl");
  std::sort(errors.begin(), errors.end(), [](const LogLine& a, const LogLine& b) {
    return a.json.at("windrow").at("line").as_int64() < b.json.at("windrow").at("line").as_int64();
  });
  ASSERT_EQ(errors.size(), input.bad.size());
  for (size_t i = 0; i < errors.size(); ++i) {
    const BadLine& bad = input.bad[i];
    const boost::json::object& line = errors[i].json;
    const std::string number = std::to_string(input.bad_numbers[i]);
    const std::string param = bad.param.empty() ? "null" : in_quotes(bad.param);
    SCOPED_TRACE(bad.line.substr(0, 200));
    EXPECT_EQ(member(line, "windrow.line"), number);
    EXPECT_EQ(member(line, "error.line"), number);
    EXPECT_EQ(member(line, "error.code"), in_quotes(bad.code));
    EXPECT_EQ(member(line, "error.message"), in_quotes(bad.message));
    EXPECT_EQ(member(line, "error.param"), param);
    if (bad.status == 0) {
      EXPECT_EQ(member(line, "response"), "null");
      EXPECT_EQ(member(line, "windrow.attempts"), "0");
      continue;
    }
    EXPECT_EQ(member(line, "custom_id"), fmt::format("\"bad-{}\"", number));
    EXPECT_EQ(member(line, "response.status_code"), std::to_string(bad.status));
    EXPECT_EQ(member(line, "response.body.error.code"), in_quotes(bad.code));
    EXPECT_EQ(member(line, "response.body.error.message"), in_quotes(bad.message));
    EXPECT_EQ(member(line, "response.body.error.param"), param);
    EXPECT_EQ(member(line, "response.body.error.type"),
              bad.status == 404 ? "\"not_found_error\"" : "\"invalid_request_error\"");
  }

  // All of them are final.
  const Ended again = folder.windrow(kRun);
  EXPECT_EQ(again.code, 1) << again;
  EXPECT_EQ(read_log(folder, "results.jsonl").size(), 3U);
  EXPECT_EQ(read_log(folder, "results.errors.jsonl").size(), errors.size());
}

TEST(BadLines, StrictNamesEveryOneAndRunsNothing) {
  Words strict = kRun;
  strict.push_back("--strict");
  const Input input = make_input();
  JobFolder folder;
  folder.use_model(model_path("llama"));
  folder.write("requests.jsonl", input.text);
  const Ended ended = folder.windrow(strict);
  EXPECT_EQ(ended.code, 2) << ended;
  // In the order of the input.
  std::vector<std::string> missing;
  size_t from = 0;
  for (size_t i = 0; i < input.bad.size(); ++i) {
    const BadLine& bad = input.bad[i];
    const std::string id = bad.code == "duplicate_custom_id" ? ", custom_id \"first\""
                           : bad.status == 0
                               ? ""
                               : fmt::format(", custom_id \"bad-{}\"", input.bad_numbers[i]);
    const std::string place = fmt::format("line {}", input.bad_numbers[i]);
    const std::string before =
        bad.message.starts_with(place + " ") ? "" : fmt::format("{}{}: ", place, id);
    const std::string text = fmt::format("windrow: requests.jsonl: {}{}\n", before, bad.message);
    const size_t at = ended.errors.find(text, from);
    if (at == std::string::npos) {
      missing.push_back(text);
    } else {
      from = at;
    }
  }
  EXPECT_EQ(missing, Words{}) << ended;
  EXPECT_THAT(ended.errors,
              HasSubstr(fmt::format("requests.jsonl: {} of {} rows cannot run; correct them, or "
                                    "leave out --strict, which then costs only these rows",
                                    input.bad.size(), input.lines)));
  EXPECT_FALSE(folder.has("results.jsonl"));
  EXPECT_FALSE(folder.has("results.errors.jsonl"));

  folder.write("requests.jsonl", good_row("first") + good_row("last"));
  const Ended good = folder.windrow(strict);
  EXPECT_EQ(good.code, 0) << good;
  EXPECT_EQ(read_log(folder, "results.jsonl").size(), 2U);
}

TEST(BadLines, StrictNeedsAnInputThatCanBeReadTwice) {
  JobFolder folder;
  folder.use_model(model_path("llama"));
  Command command = folder.command(exact_run("-", "results.jsonl", {"--strict"}));
  command.input = some_requests(1);
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.errors,
              HasSubstr("--strict reads the input twice, and standard input can be read only once; "
                        "write it to a file first, or leave out --strict"));
}

TEST(BadLines, ALineAboveTheLimitIsOneOfThem) {
  JobFolder folder;
  folder.use_model(model_path("llama"));
  const size_t bytes = (size_t{64} << 20) + 1;
  folder.write("requests.jsonl", some_requests(1) + std::string(bytes, 'x') + "\n" +
                                     completion_line("behind", "the", {{"max_tokens", 1}}));
  const Ended ended = folder.windrow(exact_run("requests.jsonl", "results.jsonl"));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(read_log(folder, "results.jsonl").size(), 2U);
  const std::vector<LogLine> errors = read_log(folder, "results.errors.jsonl");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(member(errors.front().json, "error.code"), "\"line_too_long\"");
  EXPECT_EQ(member(errors.front().json, "error.message"),
            "\"line 2 is 67108865 bytes long, above the limit of 64.0 MiB for one line; split the "
            "request\"");
  EXPECT_EQ(member(errors.front().json, "windrow.line"), "2");
}

}  // namespace
}  // namespace windrow::end_to_end
