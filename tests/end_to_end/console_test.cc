// The messages of a run, on terminals, in pipes and for scripts; and the files that describe it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

// "\x1b[33m" and its like.
bool has_colour(std::string_view text) {
  for (size_t at = text.find("\x1b["); at != std::string_view::npos;
       at = text.find("\x1b[", at + 1)) {
    if (text.substr(text.find_first_not_of("0123456789;", at + 2)).starts_with('m')) return true;
  }
  return false;
}

class ConsoleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.use_model(model_path("llama"));
    folder_.write("requests.jsonl", some_requests(6) + "not json\n");
  }

  Command job(const Words& more = {}) {
    return folder_.command(exact_run("requests.jsonl", "results.jsonl", more));
  }

  JobFolder folder_;
};

TEST_F(ConsoleTest, APipeGetsPlainLines) {
  const Ended ended = run(job());
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(ended.output, "");
  EXPECT_THAT(ended.errors, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ended.errors, Not(HasSubstr("\r")));
  EXPECT_THAT(ended.errors, EndsWith("\n"));
  std::vector<std::string> lines = lines_of(ended.errors);
  // How much could be shared depends on what ran together.
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("reused        "); });
  ASSERT_EQ(lines.size(), 11U) << ended;
  EXPECT_EQ(lines[0], "windrow: model.gguf answers every row, whatever model it names");
  EXPECT_EQ(lines[1], "rows          6 succeeded, 1 failed");
  EXPECT_EQ(lines[2], "failures      1 x invalid_json_line");
  EXPECT_THAT(lines[3], StartsWith("                as "));
  EXPECT_THAT(lines[4], StartsWith("time          "));
  EXPECT_THAT(lines[5], StartsWith("speed         "));
  EXPECT_THAT(lines[6], StartsWith("tokens        "));
  EXPECT_EQ(lines[7], "results       results.jsonl");
  EXPECT_EQ(lines[8], "errors        results.errors.jsonl");
  EXPECT_EQ(
      lines[9],
      "to retry      windrow retry results.errors.jsonl, with the same --model or --upstream");
  EXPECT_EQ(lines[10], "summary       results.summary.json");
}

TEST_F(ConsoleTest, QuietSaysNothingButErrors) {
  const Ended ended = run(job({"--quiet"}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(ended.output, "");
  EXPECT_EQ(ended.errors, "");
  EXPECT_TRUE(folder_.has("results.summary.json"));
  const Ended refused = run(job({"--quiet", "--set", "seed=5"}));
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.errors,
            "windrow: the results in results.jsonl were made with other options:\n"
            "  set seed: (not set) -> 5\n"
            "use the old ones to continue, or --fresh to start over and keep the old files under "
            "another name\n");
}

TEST_F(ConsoleTest, NoSummaryLeavesOneLine) {
  const Ended ended = run(job({"--no-summary"}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(ended.errors,
            "windrow: model.gguf answers every row, whatever model it names\n"
            "windrow: 6 rows succeeded, 1 failed\n");
}

TEST_F(ConsoleTest, JsonGivesEventsAndNothingElse) {
  const Ended ended = run(job({"--json"}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(ended.errors, "");
  const std::vector<std::string> lines = lines_of(ended.output);
  ASSERT_EQ(lines.size(), 3U) << ended;
  const json::object start = json::parse(lines[0]).as_object();
  EXPECT_EQ(start.at("event").as_string(), "start");
  EXPECT_EQ(start.at("input").as_string(), "requests.jsonl");
  EXPECT_EQ(start.at("output").as_string(), "results.jsonl");
  EXPECT_EQ(json::parse(lines[1]).at("event").as_string(), "note");
  json::object end = json::parse(lines[2]).as_object();
  EXPECT_EQ(end.at("event").as_string(), "end");
  EXPECT_EQ(end.at("exit_code").as_int64(), 1);
  end.erase("event");
  // The last event equals the summary, apart from the sizes of the logs, which only the file has.
  json::object summary = json::parse(folder_.read("results.summary.json")).as_object();
  EXPECT_EQ(summary.erase("log_bytes"), 1U);
  EXPECT_EQ(end, summary);
}

TEST_F(ConsoleTest, JsonSaysErrorsToBoth) {
  const Ended ended = folder_.windrow(exact_run("none.jsonl", "results.jsonl", {"--json"}));
  EXPECT_EQ(ended.code, 2);
  const json::object event = json::parse(ended.output).as_object();
  EXPECT_EQ(event.at("event").as_string(), "error");
  EXPECT_EQ(ended.errors,
            fmt::format("windrow: {}\n", std::string_view(event.at("message").as_string())));
}

TEST_F(ConsoleTest, AReaderThatWentAwayDoesNotEndTheJob) {
  for (const char* flag : {"--json", "--summary"}) {
    Process process(job({flag, "--fresh"}));
    process.close_outputs();
    EXPECT_EQ(process.wait().code, 1) << flag;
    EXPECT_EQ(read_log(folder_, "results.jsonl").size(), 6U) << flag;
  }
}

TEST_F(ConsoleTest, ATerminalGetsALiveLineThatFitsAndIsGoneAtTheEnd) {
  Command command = job();
  command.terminal = true;
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 1) << ended;
  constexpr std::string_view kClear = "\r\x1b[K";
  const size_t last = ended.output.rfind(kClear);
  ASSERT_NE(last, std::string::npos) << ended;
  for (const std::string& line : lines_of(ended.output)) {
    size_t begin = 0;
    while (begin < line.size()) {
      const size_t end = std::min(line.find(kClear, begin), line.size());
      std::string piece = line.substr(begin, end - begin);
      if (piece.ends_with('\r')) piece.pop_back();
      EXPECT_LT(piece.size(), 100U) << piece;
      begin = end + kClear.size();
    }
  }
  // Only whole lines stay on the screen.
  EXPECT_THAT(ended.output.substr(last + kClear.size()),
              HasSubstr("rows          6 succeeded, 1 failed\r\n"));
}

TEST_F(ConsoleTest, ATerminalThatCannotRedrawGetsPlainLines) {
  Command command = job();
  command.terminal = true;
  command.variables["TERM"] = "dumb";
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.output, Not(HasSubstr("\x1b")));
}

TEST_F(ConsoleTest, ColoursAreForTerminalsThatWantThem) {
  struct Case {
    bool terminal;
    bool no_color;  // the variable
    Words flags;
    bool coloured;
  };
  const Case cases[] = {
      {true, false, {}, true},
      {true, true, {}, false},
      {true, false, {"--no-color"}, false},
      {true, false, {"--color", "never"}, false},
      {true, true, {"--color", "always"}, true},
      {false, false, {}, false},
      {false, false, {"--color", "always"}, true},
      {false, true, {}, false},
  };
  for (const Case& one : cases) {
    Command command = folder_.command(exact_run("none.jsonl", "results.jsonl", one.flags));
    command.terminal = one.terminal;
    if (one.no_color) command.variables["NO_COLOR"] = "1";
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2);
    const std::string& said = one.terminal ? ended.output : ended.errors;
    EXPECT_THAT(said, HasSubstr("cannot read the input none.jsonl"));
    EXPECT_EQ(has_colour(said), one.coloured) << ended;
  }
}

TEST_F(ConsoleTest, NoColorMeansNoEscapeBytesInALiveRunButThoseThatClearTheLine) {
  Command command = job();
  command.terminal = true;
  command.variables["NO_COLOR"] = "1";
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_FALSE(has_colour(ended.output)) << ended;
}

TEST_F(ConsoleTest, NamesOfStrangersCannotMoveTheCursor) {
  folder_.write("requests.jsonl", completion_line("\x1b[31mred\r", "a", {{"temperature", 9}}));
  const Ended ended = run(job({"--strict"}));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.errors, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ended.errors, Not(HasSubstr("\r")));
  EXPECT_THAT(ended.errors, HasSubstr("\\x1b[31mred\\x0d"));
}

TEST_F(ConsoleTest, AVariableThatIsNearlyASettingIsSaid) {
  Command command = job({"--quiet"});
  command.variables["WINDROW_ROWS_MAXX"] = "3";
  command.variables["WINDROW_SOMETHING_ELSE"] = "3";
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.errors,
            "windrow: warning: the variable WINDROW_ROWS_MAXX is no setting and has no effect; "
            "WINDROW_ROWS_MAX is one\n");
}

// --- files that tell of a run -------------------------------------------------------------------

int64_t sum_of_usage(const JobFolder& folder, const char* what) {
  int64_t sum = 0;
  for (const LogLine& line : read_log(folder, "results.jsonl"))
    sum += line.json.at("response").at("body").at("usage").at(what).as_int64();
  return sum;
}

TEST_F(ConsoleTest, TheSummaryAgreesWithTheLogs) {
  EXPECT_EQ(run(job({"--limit", "2"})).code, 0);
  const int64_t prompt_before = sum_of_usage(folder_, "prompt_tokens");
  const int64_t completion_before = sum_of_usage(folder_, "completion_tokens");
  const Ended ended = run(job({"--step-ms", "500"}));
  EXPECT_EQ(ended.code, 1) << ended;
  const json::object summary = json::parse(folder_.read("results.summary.json")).as_object();
  EXPECT_EQ(summary.at("end").as_string(), "completed");
  EXPECT_TRUE(summary.at("error").is_null());
  EXPECT_EQ(summary.at("exit_code").as_int64(), 1);
  EXPECT_LE(summary.at("started_at").as_int64(), summary.at("ended_at").as_int64());
  EXPECT_EQ(member(summary, "files.results"), "\"results.jsonl\"");
  EXPECT_EQ(member(summary, "files.errors"), "\"results.errors.jsonl\"");
  EXPECT_EQ(member(summary, "rows.total"), "7");
  EXPECT_EQ(member(summary, "rows.succeeded"), "6");
  EXPECT_EQ(member(summary, "rows.failed"), "1");
  EXPECT_EQ(member(summary, "rows.left"), "0");
  EXPECT_EQ(member(summary, "rows.earlier_runs"), "2");
  EXPECT_EQ(member(summary, "rows.this_run"), "5");
  EXPECT_EQ(member(summary, "this_run.attempts"), "4");
  EXPECT_EQ(member(summary, "this_run.usage.prompt_tokens"),
            std::to_string(sum_of_usage(folder_, "prompt_tokens") - prompt_before));
  EXPECT_EQ(member(summary, "this_run.usage.completion_tokens"),
            std::to_string(sum_of_usage(folder_, "completion_tokens") - completion_before));
  EXPECT_EQ(member(summary, "this_run.computed.generated_tokens"),
            member(summary, "this_run.usage.completion_tokens"));
  const json::array& failures = summary.at("failures").as_array();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].at("code").as_string(), "invalid_json_line");
  EXPECT_EQ(failures[0].at("rows").as_int64(), 1);
  EXPECT_EQ(member(summary, "settings.step-ms.value"), "500");
  EXPECT_EQ(member(summary, "settings.step-ms.source"), "\"flag --step-ms\"");
  EXPECT_EQ(member(summary, "settings.threads.source"), "\"WINDROW_THREADS\"");
}

TEST_F(ConsoleTest, AReportIsOnePageThatNeedsNothingElse) {
  const Ended ended = run(job({"--report", "report.html"}));
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("report.html\n"));
  const std::string page = folder_.read("report.html");
  EXPECT_THAT(page.substr(9), StartsWith(" html>"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("invalid_json_line"));
}

TEST_F(ConsoleTest, ADryRunCountsExactlyAndWritesNothing) {
  const std::vector<std::string> before = folder_.names();
  const Ended text = run(job({"--dry-run"}));
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_THAT(text.output, HasSubstr("rows          7, 1 of them at fault\n"));
  const Ended ended = run(job({"--dry-run", "--json"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(folder_.names(), before);
  const json::object found = json::parse(lines_of(ended.output).back()).as_object();
  EXPECT_EQ(found.at("event").as_string(), "dry_run");
  EXPECT_EQ(found.at("rows").as_int64(), 7);
  EXPECT_EQ(found.at("rows_at_fault").as_int64(), 1);
  EXPECT_EQ(found.at("output_tokens_max").as_int64(), 6 * 8);
  EXPECT_EQ(run(job()).code, 1);
  EXPECT_EQ(found.at("prompt_tokens").as_int64(), sum_of_usage(folder_, "prompt_tokens"));
}

}  // namespace
}  // namespace windrow::end_to_end
