#include "app/commands/help_page.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

TEST(HelpPage, WrapsWordsToItsWidth) {
  HelpPage page(64);
  page.usage({"windrow x FILE"});
  page.paragraph("One two three four five six seven eight nine ten eleven twelve thirteen.");
  page.examples({{"windrow x a", "the usual"}, {"windrow x b", ""}});
  page.heading("Flags");
  page.entry("-o, --output FILE", "where it goes, which may be anywhere on the disk");
  page.entry("--a-very-long-flag-it-is VALUE", "what it does");
  page.exit_codes({{0, "success"}, {130, "interrupted"}});
  EXPECT_EQ(page.take(),
            "windrow x FILE\n"
            "\n"
            "One two three four five six seven eight nine ten eleven twelve\n"
            "thirteen.\n"
            "\n"
            "Examples\n"
            "  # the usual\n"
            "  windrow x a\n"
            "  windrow x b\n"
            "\n"
            "Flags\n"
            "  -o, --output FILE         where it goes, which may be anywhere\n"
            "                            on the disk\n"
            "  --a-very-long-flag-it-is VALUE\n"
            "                            what it does\n"
            "\n"
            "Exit codes\n"
            "  0                         success\n"
            "  130                       interrupted\n");
}

TEST(HelpPage, OnANarrowTerminalWordsStandBelowTheFlag) {
  HelpPage page(40);
  page.entry("--flag", "one two three four five six seven eight");
  page.entry("-f", "http://a.word.that.is.longer.than.the.width/is/kept");
  EXPECT_EQ(page.take(),
            "  --flag\n"
            "        one two three four five six\n"
            "        seven eight\n"
            "  -f    http://a.word.that.is.longer.than.the.width/is/kept\n");
}

TEST(HelpWidth, IsThatOfTheVariableOrTheTerminal) {
  EXPECT_EQ(help_width({}, std::nullopt), 80U);
  EXPECT_EQ(help_width({}, 100), 100U);
  EXPECT_EQ(help_width({{"COLUMNS", "60"}}, 100), 60U);
  EXPECT_EQ(help_width({{"COLUMNS", "wide"}}, 100), 100U);
  EXPECT_EQ(help_width({{"COLUMNS", "0"}}, std::nullopt), 80U);
  EXPECT_EQ(help_width({}, 20), 40U);
  EXPECT_EQ(help_width({}, 500), 110U);
}

}  // namespace
}  // namespace windrow::app
