#include "app/commands/chat_printer.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

// What is printed of an answer with reasoning, and what is kept of it.
std::string printed(AnswerPrinter::How how, bool stopped = false) {
  std::string output;
  AnswerPrinter printer(how, [&](std::string_view text) { output += text; });
  printer.show({.text = "", .reasoning = "let me "});
  printer.show({.text = "", .reasoning = "see"});
  printer.show({.text = "4", .reasoning = ""});
  printer.show({.text = "2\x1b", .reasoning = ""});
  EXPECT_EQ(printer.end(stopped), "42\x1b");
  return output;
}

TEST(AnswerPrinter, ReasoningIsDimmedOnATerminal) {
  EXPECT_EQ(printed({.terminal = true, .colour = true}), "\x1b[2mlet me see\x1b[0m\n\n42\\x1b\n");
}

TEST(AnswerPrinter, WithoutColoursWordsTellThemApart) {
  EXPECT_EQ(printed({.terminal = true}, true),
            "(reasoning) let me see\n(answer) 42\\x1b (stopped)\n");
}

TEST(AnswerPrinter, APipeGetsTheTextAlone) {
  EXPECT_EQ(printed({.colour = true}, true), "42\x1b\n");
}

TEST(AnswerPrinter, ReasoningThatIsCutOffIsEnded) {
  std::string output;
  AnswerPrinter printer({.terminal = true, .colour = true},
                        [&](std::string_view text) { output += text; });
  printer.show({.text = "", .reasoning = "hm"});
  EXPECT_EQ(printer.end(true), "");
  EXPECT_EQ(output, "\x1b[2mhm\x1b[0m\n\n (stopped)\n");
}

}  // namespace
}  // namespace windrow::app
