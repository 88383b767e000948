// `windrow run` with a server that cuts prompts without a word, as Ollama does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "end_to_end/job_folder.h"
#include "end_to_end/sim_upstream.h"

namespace windrow::end_to_end {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string words(size_t bytes) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i)
    text += "word" + std::to_string(i) + " ";
  return text;
}

TEST(Ollama, RowsOverACutPromptFailAndSayHowToRaiseTheContext) {
  JobFolder folder;
  const SimUpstream upstream(folder, {"--ollama", "--context", "1000", "--token-ms", "0"});
  // A prompt that fits; one that only the answer shows to be cut; one that certainly does not fit
  // and is not sent.
  folder.write("in.jsonl", chat_line("short", "hello") + chat_line("cut", words(6000)) +
                               chat_line("long", words(40'000)));
  const Ended ended =
      folder.windrow({"run", "in.jsonl", "-o", "out.jsonl", "--upstream", upstream.url()});
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("has a context of 1,000 tokens")) << ended;
  EXPECT_THAT(custom_ids(read_log(folder, "out.jsonl")), ElementsAre("short"));
  const std::vector<LogLine> errors = read_log(folder, "out.errors.jsonl");
  EXPECT_THAT(custom_ids(errors), UnorderedElementsAre("cut", "long"));
  for (const LogLine& line : errors)
    EXPECT_THAT(line.text,
                AllOf(HasSubstr("context_length_exceeded"), HasSubstr("OLLAMA_CONTEXT_LENGTH"),
                      HasSubstr(member(line.json, "custom_id") == "\"long\""
                                    ? "so it was not sent"
                                    : "502 of the prompt were read")));
}

}  // namespace
}  // namespace windrow::end_to_end
