// Rows of the form kInputs: one instance of a program each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "batch/fast_row_scanner.h"
#include "batch/row_planner.h"
#include "batch/row_reader.h"
#include "batch/testing/job_rig.h"
#include "store/testing/memory_disk.h"

namespace windrow::batch {
namespace {

const RowRules kInputRules{
    .body = {}, .models = {"sort.lua"}, .any_model = true, .form = RowForm::kInputs};

RowOrFault read_input(std::string_view text) {
  return RowReader(kInputRules).read({.number = 7, .bytes = text, .length = text.size()});
}

Row input_row(std::string_view text) {
  RowOrFault read = read_input(text);
  if (const auto* fault = std::get_if<RowFault>(&read)) {
    ADD_FAILURE() << text << ": " << fault->failure.message;
    return {};
  }
  return std::get<Row>(std::move(read));
}

RowFault input_fault(std::string_view text) {
  RowOrFault read = read_input(text);
  if (!std::holds_alternative<RowFault>(read)) {
    ADD_FAILURE() << "a row: " << text;
    return {};
  }
  return std::get<RowFault>(std::move(read));
}

uint64_t fingerprint_of(std::string_view text) {
  return input_row(text).key.fingerprint;
}

TEST(InputRows, TheInputIsKeptAsItIsWritten) {
  const Row row =
      input_row(R"({"custom_id":"a", "input" : {"n": 1.0, "list":[1, 2]} , "note": "x"})");
  EXPECT_EQ(row.request.raw, R"({"n": 1.0, "list":[1, 2]})");
  EXPECT_EQ(row.request.model, "a") << "the name of its instance";
  EXPECT_EQ(row.form, RowForm::kInputs);
  EXPECT_EQ(row.key.custom_id, "a");
  EXPECT_EQ(row.key.identity, row_identity("a"));
  EXPECT_FALSE(row.question.has_value()) << "each row is an instance of its own";
}

TEST(InputRows, AnyJsonIsAnInput) {
  for (const std::string_view input : {"null", "false", "-1.5e3", R"("text")", "[]", "{}"}) {
    EXPECT_EQ(input_row(fmt::format(R"({{"custom_id":"a","input":{}}})", input)).request.raw,
              input);
  }
}

TEST(InputRows, ARowHasTheSeedThatItNamesOrOneOfItsOwn) {
  const auto seed = [](std::string_view text) { return input_row(text).request.sampling.seed; };
  EXPECT_EQ(seed(R"({"custom_id":"a","input":1,"seed":5})"), 5U);
  EXPECT_EQ(seed(R"({"custom_id":"a","input":1,"seed":-1})"), UINT64_MAX);
  EXPECT_EQ(seed(R"({"custom_id":"a","input":[1]})"), seed(R"({"input":[ 1 ],"custom_id":"a"})"));
  EXPECT_NE(seed(R"({"custom_id":"a","input":1})"), seed(R"({"custom_id":"b","input":1})"));
  EXPECT_NE(seed(R"({"custom_id":"a","input":1})"), seed(R"({"custom_id":"a","input":2})"));
  const RowFault fault = input_fault(R"({"custom_id":"a","input":1,"seed":"x"})");
  EXPECT_EQ(fault.failure.param, "seed");
  EXPECT_FALSE(fault.of_line);
}

TEST(InputRows, InputAndSeedAreTheFingerprint) {
  const uint64_t plain = fingerprint_of(R"({"custom_id":"a","input":{"x":[1,"b c"]}})");
  EXPECT_EQ(fingerprint_of(R"( {"input" : { "x" : [ 1, "b c" ] }, "custom_id":"a"} )"), plain);
  EXPECT_EQ(fingerprint_of(R"({"custom_id":"a","input":{"x":[1,"b c"]},"body":{}})"), plain);
  for (const std::string_view other : {
           R"({"custom_id":"b","input":{"x":[1,"b c"]}})",
           R"({"custom_id":"a","input":{"x":[1,"bc"]}})",
           R"({"custom_id":"a","input":{"x":[1.0,"b c"]}})",
           R"({"custom_id":"a","input":{"x":[1,"b c"]},"seed":0})",
       }) {
    EXPECT_NE(fingerprint_of(other), plain) << other;
  }
}

// Stored in every log.
TEST(InputRows, FingerprintsAreStableBetweenVersions) {
  EXPECT_EQ(fingerprint_of(R"({"custom_id":"a","input":{"x": 1},"seed":3})"),
            hash64("{\"x\":1}\n3", hash64("a")));
}

TEST(InputRows, AnInputDoesNotChangeTheFingerprintOfARequest) {
  const RowReader reader(RowRules{.models = {"m"}, .any_model = true});
  const auto key = [&](std::string_view text) {
    return std::get<Row>(reader.read({.number = 1, .bytes = text, .length = text.size()})).key;
  };
  EXPECT_EQ(key(R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p"},"input":1})"),
            key(R"({"custom_id":"a","url":"/v1/completions","body":{"prompt":"p"},"input":2})"));
}

TEST(InputRows, EachCommandSaysWhoseRowsItWasGiven) {
  const RowFault request = input_fault(R"({"custom_id":"a","url":"/v1/completions","body":{}})");
  EXPECT_EQ(request.failure.code, "missing_input");
  EXPECT_NE(request.failure.message.find("windrow run"), std::string::npos);
  const RowFault neither = input_fault(R"({"custom_id":"a"})");
  EXPECT_EQ(neither.failure.code, "missing_input");
  EXPECT_EQ(neither.failure.status, 400);
  EXPECT_EQ(neither.failure.message.find("windrow run"), std::string::npos);
  EXPECT_FALSE(neither.of_line);

  const std::string_view input = R"({"custom_id":"a","input":1})";
  const RowOrFault read = RowReader(RowRules{.models = {"m"}})
                              .read({.number = 1, .bytes = input, .length = input.size()});
  EXPECT_EQ(std::get<RowFault>(read).failure.code, "missing_url");
  EXPECT_NE(std::get<RowFault>(read).failure.message.find("windrow exec"), std::string::npos);
}

TEST(InputRows, LinesThatAreNoRowsAreFaultsOfTheLine) {
  EXPECT_EQ(input_fault("[1]").failure.code, "invalid_json_line");
  EXPECT_NE(input_fault("[1]").failure.message.find("\"input\""), std::string::npos);
  EXPECT_EQ(input_fault("{").failure.code, "invalid_json_line");
  EXPECT_EQ(input_fault(R"({"input":1})").failure.code, "missing_custom_id");
  EXPECT_TRUE(input_fault(R"({"input":1})").of_line);
}

// --- the scanner ------------------------------------------------------------------------------

std::optional<ScannedRow> read_key(const std::string& line) {
  const auto opened =
      RowReader(kInputRules).open({.number = 1, .bytes = line, .length = line.size()});
  const auto* envelope = std::get_if<Envelope>(&opened);
  if (envelope == nullptr) return std::nullopt;
  return ScannedRow{envelope->key.identity, envelope->key.fingerprint};
}

TEST(InputRows, ScanningSeesWhatReadingSees) {
  for (const std::string line : {
           R"({"custom_id":"a","input":{"a":[1,{"b":"c"}]}})",
           R"( { "input" : [ 1 , "]" ] , "custom_id" : "a b" , "seed" : -12 } )",
           R"({"custom_id":"a","input":"} \" \\"})",
           R"({"custom_id":"a","input":null,"seed":7})",
           R"({"custom_id":"a","seed":7,"input":-1.5E+3})",
       }) {
    const auto scanned = FastRowScanner(RowForm::kInputs).scan(line);
    const auto whole = read_key(line);
    ASSERT_TRUE(scanned && whole) << line;
    EXPECT_EQ(scanned->identity, whole->identity) << line;
    EXPECT_EQ(scanned->fingerprint, whole->fingerprint) << line;
  }
}

TEST(InputRows, ScanningLeavesWhatIsUnusualToTheReader) {
  for (const char* line : {
           "",
           "{",
           R"({"custom_id":"a"})",
           R"({"input":1})",
           R"({"custom_id":"","input":1})",
           R"({"custom_id":"a","input":})",
           R"({"custom_id":"a","input":1,"input":2})",
           R"({"custom_id":"a","custom_id":"b","input":1})",
           R"({"custom_id":"a","input":1,"seed":"7"})",
           R"({"custom_id":"a","input":1,"note":2})",
           R"({"custom_id":"a","input":{"x":1})",
           R"({"custom_id":"a","input":"x})",
           R"({"custom_id":"a","url":"u","body":{}})",
       }) {
    EXPECT_FALSE(FastRowScanner(RowForm::kInputs).scan(line).has_value()) << line;
  }
}

TEST(InputRows, ScanningAgreesWithReadingOnAnyLine) {
  Random random(23);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random.below(from.size())];
  };
  const auto space = [&] { return pick({"", "", "", " ", "\t "}); };
  FastRowScanner scanner(RowForm::kInputs);
  int scanned = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::vector<std::pair<std::string, std::string>> members = {
        {"custom_id", pick({R"("a")", R"("row 7")", R"("\u0061")", "7", R"("")"})},
        {"input", pick({"1", "null", R"("a \" b")", R"("\\")", "[1, 2]", R"([{"a":"]"}])",
                        R"({"b" : {}})", "\"\xC3\xA9\"", "-1.5e3", R"({"a": [ true ,{}]})"})},
        {"seed", pick({"5", "-1", "null", "\"x\""})}};
    std::string line = space() + "{";
    const size_t first = random.below(3);
    for (size_t k = 0; k < members.size(); ++k) {
      const auto& [name, value] = members[(first + k) % members.size()];
      if (random.below(name == "seed" ? 2 : 20) == 0) continue;
      if (!line.ends_with('{')) line += ',';
      line += fmt::format("{}\"{}\"{}:{}{}{}", space(), name, space(), space(), value, space());
    }
    line += "}" + space();
    if (random.below(3) == 0) {
      line[random.below(line.size())] = pick({"\"", "\\", "{", "}", ",", " ", "x", "\xFF"})[0];
    }
    const auto row = scanner.scan(line);
    const auto whole = read_key(line);
    if (!row || !whole) continue;
    ++scanned;
    ASSERT_EQ(row->identity, whole->identity) << line;
    ASSERT_EQ(row->fingerprint, whole->fingerprint) << line;
  }
  EXPECT_GT(scanned, 2'000);
}

// --- the order --------------------------------------------------------------------------------

TEST(InputRows, AnInputThatLooksLikeAPromptHasNoPrefix) {
  const std::string text(500, 'x');
  const Row row = input_row(fmt::format(
      R"({{"custom_id":"a","input":{{"messages":[{{"role":"user","content":"{}"}}]}}}})", text));
  EXPECT_TRUE(prompt_key(row).blocks.empty());
  EXPECT_FALSE(prompt_key(row.request).blocks.empty()) << "as a body it would have one";
}

// --- a whole job ------------------------------------------------------------------------------

using InputJob = testing::JobTest;

testing::JobRun input_job(std::string input) {
  testing::JobRun run{.input = std::move(input), .options = testing::job_options()};
  run.options.form = RowForm::kInputs;
  run.script = [](const llm::Request& request) -> llm::Outcome {
    llm::Answer answer;
    answer.raw = fmt::format(R"({{"choices":[{{"text":{}}}]}})", request.raw);
    return answer;
  };
  return run;
}

std::string input_lines(int first, int last) {
  std::string lines;
  for (int i = first; i <= last; ++i)
    lines += fmt::format("{{\"custom_id\":\"row-{}\",\"input\": \"n {}\"}}\n", i, i);
  return lines;
}

TEST_F(InputJob, RunsAndResumes) {
  const std::string faulty = R"({"custom_id":"old","url":"/v1/completions","body":{}})"
                             "\n";
  const testing::JobOutcome first = run_job(memory_, input_job(input_lines(1, 30) + faulty));
  ASSERT_TRUE(first.completed()) << first.error();
  EXPECT_EQ(first.submitted, 30);
  EXPECT_EQ(results().count("row-7: n 7"), 1U);
  EXPECT_EQ(errors(), testing::Entries{"old: missing_input"});

  const testing::JobOutcome second = run_job(memory_, input_job(input_lines(1, 40) + faulty));
  ASSERT_TRUE(second.completed()) << second.error();
  EXPECT_EQ(second.submitted, 10);
  EXPECT_EQ(results().size(), 40U);

  std::string changed = input_lines(1, 40);
  changed.replace(changed.find("n 7"), 3, "n 8");
  const testing::JobOutcome third = run_job(memory_, input_job(changed));
  ASSERT_FALSE(third.result.has_value());
  EXPECT_EQ(third.result.error().kind, ErrorKind::kConflict);
  EXPECT_NE(third.error().find("row-7"), std::string::npos) << third.error();
}

}  // namespace
}  // namespace windrow::batch
