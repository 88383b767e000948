#include "batch/row_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace windrow::batch {
namespace {

const RowRules kAnyModel{.body = {}, .models = {"tiny"}, .any_model = true};

Line line_of(std::string_view text, uint64_t number = 7) {
  return Line{.number = number, .bytes = text, .length = text.size()};
}

Row row_of(std::string_view text, const RowRules& rules = kAnyModel) {
  auto read = RowReader(rules).read(line_of(text));
  if (const auto* fault = std::get_if<RowFault>(&read)) {
    ADD_FAILURE() << fault->failure.message;
    return {};
  }
  return std::get<Row>(std::move(read));
}

RowFault fault_of(std::string_view text, const RowRules& rules = kAnyModel) {
  auto read = RowReader(rules).read(line_of(text));
  if (!std::holds_alternative<RowFault>(read)) {
    ADD_FAILURE() << "a row: " << text;
    return {};
  }
  return std::get<RowFault>(std::move(read));
}

constexpr std::string_view kGood =
    R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions",)"
    R"("body":{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0}})";

TEST(RowReader, ReadsARow) {
  const Row row = row_of(kGood);
  EXPECT_EQ(row.key.line, 7U);
  EXPECT_EQ(row.key.custom_id, "a");
  EXPECT_EQ(row.key.identity, row_identity("a"));
  EXPECT_EQ(row.request.endpoint, llm::Endpoint::kChatCompletions);
  EXPECT_EQ(row.request.model, "m");
  ASSERT_EQ(row.request.chat.messages.size(), 1U);
  EXPECT_EQ(row.request.chat.messages[0].at("content"), "hi");
  EXPECT_EQ(row.request.sampling.temperature, 0.0F);
  EXPECT_EQ(row.bytes, kGood.size());
}

TEST(RowReader, TheMethodMayBeMissingAndOtherMembersDoNotMatter) {
  const Row row = row_of(
      R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p"},"note":[1,{"a":2}]})");
  EXPECT_EQ(row.request.inputs.at(0).text, "p");
  EXPECT_EQ(row.request.model, "tiny");  // any model: the answer names the one there is
}

TEST(RowReader, ARowWithoutSeedHasOneOfItsOwn) {
  const auto seed = [](std::string_view id, std::string_view body) {
    return row_of(std::string(R"({"custom_id":")") + std::string(id) +
                  R"(","url":"/v1/completions","body":)" + std::string(body) + "}")
        .request.sampling.seed;
  };
  EXPECT_EQ(seed("a", R"({"prompt":"p"})"), seed("a", R"({ "prompt": "p" })"));
  EXPECT_NE(seed("a", R"({"prompt":"p"})"), seed("b", R"({"prompt":"p"})"));
  EXPECT_NE(seed("a", R"({"prompt":"p"})"), seed("a", R"({"prompt":"q"})"));
  EXPECT_EQ(seed("a", R"({"prompt":"p","seed":5})"), 5U);
}

TEST(RowReader, DefaultsFillWhatTheBodyLacks) {
  const RowRules rules{.body = {.defaults = {{"temperature", 0.5}, {"max_tokens", 3}}},
                       .models = {"tiny"},
                       .any_model = true};
  constexpr std::string_view kLine = R"({"custom_id":"a","url":"/v1/completions",)"
                                     R"("body":{"prompt":"p","temperature":null,"max_tokens":9}})";
  const Row row = row_of(kLine, rules);
  EXPECT_EQ(row.request.sampling.temperature, 0.5F);
  EXPECT_EQ(row.request.output_tokens_max, 9);
  // What is asked is what is written: defaults are an option of the job.
  EXPECT_EQ(row.key.fingerprint, row_of(kLine, kAnyModel).key.fingerprint);
}

TEST(RowReader, ADefaultIsForTheEndpointsThatHaveTheField) {
  const RowRules rules{
      .body = {.defaults = {{"echo", false}, {"metadata", "m"}, {"max_completion_tokens", 3}}},
      .models = {"tiny"},
      .any_model = true};
  EXPECT_EQ(row_of(R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p"}})", rules)
                .request.output_tokens_max,
            std::nullopt);
  EXPECT_EQ(row_of(kGood, rules).request.output_tokens_max, 3);
  // What the body itself says is another matter.
  EXPECT_EQ(fault_of(R"({"custom_id":"a","url":"/v1/completions",)"
                     R"("body":{"prompt":"p","max_completion_tokens":3}})",
                     rules)
                .failure.code,
            "unsupported_parameter");
}

TEST(RowReader, ModelsAreMatchedExactlyWhenTheyHaveNames) {
  const RowRules rules{.body = {}, .models = {"big", "small"}, .any_model = false};
  const auto with_model = [](std::string_view model) {
    return std::string(
               R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p","model":)") +
           std::string(model) + "}}";
  };
  EXPECT_EQ(row_of(with_model("\"small\""), rules).request.model, "small");
  const RowFault unknown = fault_of(with_model("\"other\""), rules);
  EXPECT_EQ(unknown.failure.status, 404);
  EXPECT_EQ(unknown.failure.code, "model_not_found");
  EXPECT_EQ(unknown.failure.param, "model");
  EXPECT_NE(unknown.failure.message.find("big, small"), std::string::npos);
  EXPECT_FALSE(unknown.of_line);
  EXPECT_EQ(fault_of(with_model("null"), rules).failure.code, "missing_required_parameter");
  EXPECT_EQ(fault_of(with_model("3"), rules).failure.code, "invalid_value");
}

struct BadLine {
  std::string_view text;
  std::string_view code;
  int32_t status;
  bool of_line;
};

class BadLineTest : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLineTest, IsAFaultOfItsKind) {
  const RowFault fault = fault_of(GetParam().text);
  EXPECT_EQ(fault.failure.code, GetParam().code) << fault.failure.message;
  EXPECT_EQ(fault.failure.status, GetParam().status);
  EXPECT_EQ(fault.failure.failure_class, llm::FailureClass::kRequest);
  EXPECT_EQ(fault.of_line, GetParam().of_line);
  EXPECT_EQ(fault.key.line, 7U);
  EXPECT_EQ(fault.key.custom_id, GetParam().of_line ? "" : "a");
  EXPECT_EQ(fault.key.identity,
            GetParam().of_line ? line_identity(7, fault.key.fingerprint) : row_identity("a"));
}

const std::string kDeep = R"({"custom_id":"a","body":)" + std::string(100'000, '[');

INSTANTIATE_TEST_SUITE_P(
    All, BadLineTest,
    ::testing::Values(
        BadLine{"{\"custom_id\":\"a\"", "invalid_json_line", 400, true},
        BadLine{"hello", "invalid_json_line", 400, true},
        BadLine{"{} {}", "invalid_json_line", 400, true},
        BadLine{"{\"custom_id\":\"a\",}", "invalid_json_line", 400, true},
        BadLine{"{\"custom_id\":\"\xFF\"}", "invalid_json_line", 400, true},
        BadLine{R"({"custom_id":"\ud800"})", "invalid_json_line", 400, true},
        BadLine{R"({"custom_id":"a","n":NaN})", "invalid_json_line", 400, true},
        BadLine{std::string_view("{\"custom_id\":\"a\0\"}", 18), "invalid_json_line", 400, true},
        BadLine{kDeep, "invalid_json_line", 400, true},
        BadLine{"null", "invalid_json_line", 400, true},
        BadLine{"[1]", "invalid_json_line", 400, true},
        BadLine{"\"text\"", "invalid_json_line", 400, true},
        BadLine{"{}", "missing_custom_id", 400, true},
        BadLine{R"({"custom_id":7})", "invalid_custom_id", 400, true},
        BadLine{R"({"custom_id":""})", "invalid_custom_id", 400, true},
        BadLine{R"({"custom_id":null})", "invalid_custom_id", 400, true},
        BadLine{R"({"custom_id":"a"})", "missing_url", 400, false},
        BadLine{R"({"custom_id":"a","url":3})", "missing_url", 400, false},
        BadLine{R"({"custom_id":"a","url":"/v1/responses"})", "unknown_url", 404, false},
        BadLine{R"({"custom_id":"a","method":"GET","url":"/v1/completions","body":{}})",
                "invalid_method", 400, false},
        BadLine{R"({"custom_id":"a","url":"/v1/completions"})", "missing_body", 400, false},
        BadLine{R"({"custom_id":"a","url":"/v1/completions","body":"p"})", "missing_body", 400,
                false},
        BadLine{R"({"custom_id":"a","url":"/v1/completions","body":{}})",
                "missing_required_parameter", 400, false},
        BadLine{R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p","top_p":2}})",
                "invalid_value", 400, false}));

TEST(RowReader, ALineAboveTheLimitIsAFault) {
  const RowReader reader(kAnyModel);
  const auto fault_with_length = [&](uint64_t length) {
    return std::get<RowFault>(
        reader.read({.number = 1, .bytes = "{\"cus", .length = length, .too_long = true}));
  };
  EXPECT_EQ(fault_with_length(100).failure.code, "line_too_long");
  EXPECT_NE(fault_with_length(100).key.fingerprint, fault_with_length(101).key.fingerprint);
}

TEST(RowReader, MessagesSayWhere) {
  EXPECT_NE(
      fault_of("{\"custom_id\":\"\xE9\"}").failure.message.find("is not UTF-8 (near byte 15)"),
      std::string::npos);
  EXPECT_NE(fault_of("{\"custom_id\":\"a\",x}").failure.message.find("near byte 18"),
            std::string::npos)
      << fault_of("{\"custom_id\":\"a\",x}").failure.message;
}

TEST(RowReader, DepthHasALimit) {
  const auto nested = [](size_t depth) {
    return R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p"},"note":)" +
           std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(row_of(nested(127)).request.inputs.at(0).text, "p");  // the line itself is one more
  EXPECT_EQ(fault_of(nested(128)).failure.code, "invalid_json_line");
}

TEST(RowReader, ADuplicateKeepsItsNameButGoesByItsLine) {
  const Line line = line_of(kGood, 9);
  const RowFault fault = duplicate_fault(row_of(kGood).key, line);
  EXPECT_EQ(fault.key.custom_id, "a");
  EXPECT_EQ(fault.key.line, 9U);
  EXPECT_TRUE(fault.of_line);
  EXPECT_EQ(fault.failure.code, "duplicate_custom_id");
  EXPECT_EQ(fault.key.identity, line_identity(9, fault.key.fingerprint));
}

TEST(RowReader, ANameCannotPassForALine) {
  EXPECT_NE(row_identity("line 7 00000000000000ff"), line_identity(7, 255));
  EXPECT_NE(line_identity(1, 255), line_identity(2, 255));
}

TEST(RowReader, ARawBodyIsKeptAndNotJudged) {
  const RowRules rules{.body = {.defaults = {{"vendor", 1}}},
                       .models = {"upstream"},
                       .any_model = true,
                       .raw = true};
  const Row row = row_of(R"({"custom_id":"a","url":"/v1/chat/completions",)"
                         R"("body": {"nobody_knows":1.0, "stream":true}})",
                         rules);
  EXPECT_EQ(row.request.raw, R"({"nobody_knows":1.0,"vendor":1})");
  EXPECT_EQ(row.request.model, "");
  EXPECT_EQ(row.request.endpoint, llm::Endpoint::kChatCompletions);
  // The key of a row does not depend on the backend that answers it.
  EXPECT_EQ(row_of(kGood, rules).key, row_of(kGood).key);
  // What no server could be asked is still refused here.
  EXPECT_EQ(fault_of(R"({"custom_id":"a","url":"/v2/x","body":{}})", rules).failure.code,
            "unknown_url");
}

}  // namespace
}  // namespace windrow::batch
