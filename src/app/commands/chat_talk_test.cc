#include "app/commands/chat_talk.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace windrow::app {
namespace {

using enum ChatLineKind;

TEST(ChatLine, IsAMessageOrAWord) {
  EXPECT_EQ(read_chat_line("  hello there \n"), (ChatLine{kMessage, "hello there"}));
  EXPECT_EQ(read_chat_line(" \t\n"), (ChatLine{}));
  EXPECT_EQ(read_chat_line("/reset"), (ChatLine{kReset, ""}));
  EXPECT_EQ(read_chat_line("/system  be  brief\n"), (ChatLine{kSystem, "be  brief"}));
  EXPECT_EQ(read_chat_line("/system"), (ChatLine{kSystem, ""}));
  EXPECT_EQ(read_chat_line("/help"), (ChatLine{kHelp, ""}));
  EXPECT_EQ(read_chat_line("/exit"), (ChatLine{kEnd, ""}));
  EXPECT_EQ(read_chat_line("/rest"), (ChatLine{kMistaken, "/rest"}));
  EXPECT_EQ(read_chat_line("/reset now"), (ChatLine{kMistaken, "/reset"}));
  EXPECT_EQ(read_chat_line("//etc/passwd"), (ChatLine{kMessage, "/etc/passwd"}));
}

TEST(ChatTalk, TheBodyHasTheWholeConversation) {
  ChatTalk talk("be brief");
  talk.add_question("a?");
  talk.add_answer("b");
  talk.add_question("c?");
  EXPECT_EQ(talk.body("m"), boost::json::parse(R"({"model":"m","messages":[
      {"role":"system","content":"be brief"},{"role":"user","content":"a?"},
      {"role":"assistant","content":"b"},{"role":"user","content":"c?"}]})"));
  talk.take_back_question();
  talk.set_system("");
  EXPECT_EQ(talk.body(""), boost::json::parse(R"({"messages":[
      {"role":"user","content":"a?"},{"role":"assistant","content":"b"}]})"));
  talk.reset();
  EXPECT_EQ(talk.body(""), boost::json::parse(R"({"messages":[]})"));
}

}  // namespace
}  // namespace windrow::app
