// `windrow probe` against servers of which it is not told what they can do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "end_to_end/sim_upstream.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The events of --json of one name.
std::vector<json::object> events(const std::string& output, std::string_view name) {
  std::vector<json::object> found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    json::object event = json::parse(line).as_object();
    if (event.at("event").as_string() == name) found.push_back(std::move(event));
  }
  return found;
}

class ProbeTest : public ::testing::Test {
 protected:
  Ended probe(const SimUpstream& upstream, const Words& more = {}) const {
    Words words = {"probe", "--upstream", upstream.url()};
    words.insert(words.end(), more.begin(), more.end());
    return folder_.windrow(words);
  }

  JobFolder folder_;
};

TEST_F(ProbeTest, FindsOneFourAndSixteenSlots) {
  for (const int slots : {1, 4, 16}) {
    const SimUpstream upstream(
        folder_, {"--slots", std::to_string(slots), "--token-ms", "5", "--answer-spread", "0"});
    const Ended ended = probe(upstream, {"--json"});
    ASSERT_EQ(ended.code, 0) << ended;
    const std::vector<json::object> ends = events(ended.output, "end");
    ASSERT_EQ(ends.size(), 1U) << ended;
    EXPECT_EQ(member(ends[0], "concurrency"), std::to_string(slots)) << ended;
    EXPECT_EQ(member(ends[0], "kind"), slots == 1 ? "\"serial\"" : "\"saturates\"") << ended;
    EXPECT_EQ(member(ends[0], "server"), "\"windrow sim-upstream\"");
    // It began alone, and measured what it found.
    const std::vector<json::object> steps = events(ended.output, "step");
    EXPECT_EQ(member(steps.front(), "in_flight"), "1") << ended;
    EXPECT_TRUE(std::ranges::any_of(steps, [&](const json::object& step) {
      return member(step, "in_flight") == std::to_string(slots);
    })) << ended;
  }
}

TEST_F(ProbeTest, ShowsATableWithBarsAndSaysWhatToDo) {
  const SimUpstream upstream(folder_, {"--serial", "--ollama", "--token-ms", "2"});
  const Ended piped = probe(upstream);
  ASSERT_EQ(piped.code, 0) << piped;
  EXPECT_THAT(piped.errors, AllOf(HasSubstr("(Ollama 0."), HasSubstr("windrow: 2 in flight: ")));
  EXPECT_THAT(piped.output, AllOf(HasSubstr("in flight  requests/s"), HasSubstr("  ####"),
                                  HasSubstr("the upstream is serial"),
                                  HasSubstr("OLLAMA_NUM_PARALLEL"), Not(HasSubstr("█"))));
  Command command = folder_.command(
      {"probe", "--upstream", upstream.url(), "--in-flight=1,2", "--requests-each=3"});
  command.terminal = true;
  EXPECT_THAT(run(command).output, HasSubstr("████"));
  command.variables["LC_ALL"] = "C";
  EXPECT_THAT(run(command).output, AllOf(HasSubstr("####"), Not(HasSubstr("█"))));
}

TEST_F(ProbeTest, StaysBelowWhatIsRefused) {
  const SimUpstream upstream(folder_, {"--slots", "2", "--queue", "0", "--token-ms", "2"});
  const Ended ended = probe(upstream, {"--json"});
  ASSERT_EQ(ended.code, 0) << ended;
  const json::object end = events(ended.output, "end").at(0);
  EXPECT_EQ(member(end, "kind"), "\"refuses\"") << ended;
  EXPECT_EQ(member(end, "concurrency"), "2") << ended;
  for (const json::object& step : events(ended.output, "step"))
    EXPECT_LE(step.at("in_flight").as_int64(), 4) << ended;
}

TEST_F(ProbeTest, AGivenNumberThatIsRefusedIsTheLast) {
  const SimUpstream upstream(folder_, {"--slots", "2", "--queue", "1", "--token-ms", "2"});
  const Ended ended = probe(upstream, {"--in-flight", "1,2,4,8", "--requests-each", "8", "--json"});
  ASSERT_EQ(ended.code, 0) << ended;
  const json::object end = events(ended.output, "end").at(0);
  EXPECT_EQ(member(end, "kind"), "\"refuses\"") << ended;
  EXPECT_EQ(member(end, "concurrency"), "2") << ended;
  EXPECT_EQ(events(ended.output, "step").size(), 3U) << ended;
}

TEST_F(ProbeTest, SendsTheRowsOfAFile) {
  SimUpstream upstream(folder_, {"--stats", "--token-ms", "0", "--model", "m"});
  folder_.write("rows.jsonl", "no row\n" + embedding_line("a", "one", {{"model", "m"}}) +
                                  completion_line("b", "two", {{"model", "m"}}));
  const Ended ended =
      probe(upstream, {"--input", "rows.jsonl", "--in-flight", "1", "--requests-each", "4"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, HasSubstr("recommended: --concurrency 1"));
  const Ended named = probe(upstream, {"--input", "rows.jsonl", "--model", "wrong"});
  EXPECT_EQ(named.code, 2) << named;
  EXPECT_THAT(named.errors, HasSubstr("it has m"));
  EXPECT_THAT(upstream.stop().output, HasSubstr("\"404\":"));
}

TEST_F(ProbeTest, CtrlCPrintsWhatWasMeasured) {
  const SimUpstream upstream(folder_, {"--slots", "2", "--token-ms", "1"});
  Process process(folder_.command(
      {"probe", "--upstream", upstream.url(), "--in-flight", "1,2", "--requests-each", "4"}));
  Process endless(folder_.command({"probe", "--upstream", upstream.url(), "--in-flight", "1,2,3",
                                   "--seconds-each", "3600", "--requests-each", "1000000"}));
  EXPECT_EQ(process.wait().code, 0);
  endless.wait_for_errors("measuring");
  endless.send(SIGINT);
  const Ended ended = endless.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.output, HasSubstr("interrupted: more would have been measured")) << ended;
}

TEST_F(ProbeTest, SaysWhatIsWrongWithAnUpstream) {
  const SimUpstream upstream(
      folder_, {"--want-key", "secret", "--model", "a", "--model", "b", "--token-ms", "1"});
  const Ended keyless = probe(upstream);
  EXPECT_EQ(keyless.code, 3) << keyless;
  EXPECT_THAT(keyless.errors, HasSubstr("--api-key-env NAME"));

  Command command =
      folder_.command({"probe", "--upstream", upstream.url(), "--api-key-env", "KEY"});
  EXPECT_THAT(run(command).errors, HasSubstr("the variable KEY is empty or not set"));
  command.variables["KEY"] = "wrong";
  const Ended wrong = run(command);
  EXPECT_EQ(wrong.code, 3) << wrong;
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("refuses the key"), Not(HasSubstr("wrong\n"))));
  command.variables["KEY"] = "secret";
  const Ended unnamed = run(command);
  EXPECT_EQ(unnamed.code, 2) << unnamed;
  EXPECT_THAT(unnamed.errors, AllOf(HasSubstr("--model"), HasSubstr("has a, b")));
  command.words.insert(command.words.end(), {"--model", "c"});
  const Ended model = run(command);
  EXPECT_EQ(model.code, 2) << model;
  EXPECT_THAT(model.errors, HasSubstr("it has a, b"));

  const Ended dead = folder_.windrow({"probe", "--upstream", "http://127.0.0.1:1/v1"});
  EXPECT_EQ(dead.code, 3) << dead;
  EXPECT_THAT(dead.errors, HasSubstr("nothing listens there"));
  const Ended no_url = folder_.windrow({"probe", "--upstream", "localhost:8000"});
  EXPECT_EQ(no_url.code, 2) << no_url;
  EXPECT_THAT(no_url.errors, HasSubstr("--upstream: "));
}

}  // namespace
}  // namespace windrow::end_to_end
