#include "program/library/program_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace windrow::program {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(ProgramLibrary, ListsWhatIsShippedByName) {
  std::vector<std::string> programs;
  std::vector<std::string> modules;
  for (const ShippedScript& script : shipped_scripts())
    (script.is_module ? modules : programs).emplace_back(script.name);
  EXPECT_THAT(programs,
              ElementsAre("best_of_n", "graph_of_thought", "map_reduce", "self_consistency"));
  EXPECT_THAT(modules, ElementsAre("answers", "graph", "inputs"));
  EXPECT_TRUE(std::ranges::is_sorted(shipped_scripts(), {}, &ShippedScript::name));
}

TEST(ProgramLibrary, EachHasASourceAndSaysWhatItIs) {
  for (const ShippedScript& script : shipped_scripts()) {
    EXPECT_THAT(std::string(script.source), StartsWith("-- " + std::string(script.about) + "\n"));
    EXPECT_GT(script.about.size(), 20U) << script.name;
  }
}

TEST(ProgramLibrary, ProgramsAndModulesAreFoundApart) {
  ASSERT_NE(find_shipped_program("graph_of_thought"), nullptr);
  EXPECT_EQ(find_shipped_program("graph_of_thought")->name, "graph_of_thought");
  EXPECT_EQ(find_shipped_module("graph_of_thought"), nullptr);
  ASSERT_NE(find_shipped_module("graph"), nullptr);
  EXPECT_EQ(find_shipped_program("graph"), nullptr);
  EXPECT_EQ(find_shipped_program(""), nullptr);
}

}  // namespace
}  // namespace windrow::program
