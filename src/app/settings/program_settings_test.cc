#include "app/settings/program_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "store/testing/memory_disk.h"

namespace windrow::app {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kProgram = "return function(input) return input end";

std::string value_in(const std::vector<batch::JobSetting>& settings, std::string_view name) {
  for (const batch::JobSetting& setting : settings) {
    if (setting.name == name) return setting.value;
  }
  return "absent";
}

TEST(ProgramSettings, AFileIsAProgram) {
  store::testing::MemoryDisk disk;
  disk.put("my/sort.lua", kProgram);
  disk.put("plain", kProgram);
  const auto program = load_program(disk, "my/sort.lua");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->name, "sort.lua");
  EXPECT_EQ(program->source, kProgram);
  EXPECT_EQ(load_program(disk, "plain").value().source, kProgram);
  EXPECT_EQ(load_program(disk, "my/other.lua").error().kind, ErrorKind::kNotFound);
}

TEST(ProgramSettings, ANameThatIsNoFileIsAShippedProgram) {
  store::testing::MemoryDisk disk;
  const Error error = load_program(disk, "no_such_program").error();
  EXPECT_EQ(error.kind, ErrorKind::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("no_such_program"));
  EXPECT_THAT(error.message, HasSubstr(".lua"));
}

TEST(ProgramSettings, LimitsAreThoseOfTheSettings) {
  Settings settings;
  settings.program_memory_mb = 3;
  settings.program_seconds = 7;
  settings.program_tokens = 11;
  settings.program_branches = 5;
  const program::ProgramLimits limits = program_limits(settings);
  EXPECT_EQ(limits.memory_bytes_max, size_t{3} << 20U);
  EXPECT_EQ(limits.wall_max, std::chrono::seconds(7));
  EXPECT_EQ(limits.tokens_max, 11);
  EXPECT_EQ(limits.children_max, 5U);
  const program::ProgramLimits defaults = program_limits(Settings());
  EXPECT_EQ(defaults.memory_bytes_max, program::ProgramLimits().memory_bytes_max);
  EXPECT_EQ(defaults.instructions_max, program::ProgramLimits().instructions_max);
  EXPECT_EQ(defaults.wall_max, program::ProgramLimits().wall_max);
  EXPECT_EQ(defaults.tokens_max, program::ProgramLimits().tokens_max);
  EXPECT_EQ(defaults.contexts_max, program::ProgramLimits().contexts_max);
  EXPECT_EQ(defaults.children_max, program::ProgramLimits().children_max);
}

TEST(ProgramSettings, AJobIsKnownByItsProgramAndByWhatAltersResults) {
  const program::Program program{.name = "sort.lua", .source = std::string(kProgram)};
  Settings settings;
  const auto before = program_job_settings(settings, program, false);
  EXPECT_THAT(value_in(before, "program"), HasSubstr("sort.lua, 39 bytes, "));
  EXPECT_EQ(value_in(before, "program-model"), "the only one");
  EXPECT_EQ(value_in(before, "max-tokens-default"), "absent");
  EXPECT_EQ(value_in(program_job_settings(settings, program, true), "max-tokens-default"), "4096");

  // A row that hit a limit can be tried again with a higher one.
  settings.program_tokens *= 2;
  settings.program_seconds *= 2;
  settings.program_instructions *= 2;
  settings.program_memory_mb *= 2;
  settings.programs_in_flight = 1;
  EXPECT_EQ(program_job_settings(settings, program, false), before);

  settings.program_branches = 2;
  EXPECT_NE(program_job_settings(settings, program, false), before);
  const program::Program other{.name = "sort.lua", .source = std::string(kProgram) + " "};
  EXPECT_NE(value_in(program_job_settings({}, other, false), "program"),
            value_in(before, "program"));
}

TEST(ProgramSettings, ANamedModelIsOneOfThoseThereAre) {
  Settings settings;
  settings.program_model = "big";
  EXPECT_TRUE(check_program_models(settings, {}));
  EXPECT_TRUE(check_program_models(settings, {{.name = "big", .path = "b.gguf"}}));
  const auto checked = check_program_models(settings, {{.name = "small", .path = "s.gguf"}});
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("small"));
}

TEST(ProgramSettings, TheEndingOfATraceSaysItsFormat) {
  EXPECT_TRUE(check_trace_path(""));
  EXPECT_TRUE(check_trace_path("out.json"));
  EXPECT_TRUE(check_trace_path("out.txt"));
  EXPECT_TRUE(is_chrome_trace("out.json"));
  EXPECT_FALSE(is_chrome_trace("out.txt"));
  const auto checked = check_trace_path("out.svg");
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("NAME.json"));
  EXPECT_FALSE(check_trace_path("/no/such/folder/out.json"));
}

}  // namespace
}  // namespace windrow::app
