#include "fleet/chat_template_choice.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string_view>
#include <thread>

#include "store/testing/temporary_folder.h"

namespace windrow::fleet {
namespace {

class TemplateFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  static void write(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  store::testing::TemporaryFolder folder_;
};

TEST_F(TemplateFileTest, IsReadWithoutAByteOrderMark) {
  write(path("a.jinja"), "{{ a }}\n");
  EXPECT_EQ(*read_template_file(path("a.jinja")), "{{ a }}\n");
  write(path("b.jinja"), "\xEF\xBB\xBF{{ b }}");
  EXPECT_EQ(*read_template_file(path("b.jinja")), "{{ b }}");
}

TEST_F(TemplateFileTest, WhatIsNotThereIsSaid) {
  EXPECT_EQ(read_template_file(path("none")).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read_template_file(folder_.path()).error().kind, ErrorKind::kNotFound);
}

TEST_F(TemplateFileTest, APipeIsReadOnceForAllThatTakeIt) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { write(path("pipe"), "{{ p }}"); });
  std::vector<ModelChoice> choices = {{.name = "a", .chat_template = path("pipe")},
                                      {.name = "b", .chat_template = path("pipe")},
                                      {.name = "c", .chat_template = "chatml"},
                                      {.name = "d"}};
  const Result<void> read = read_piped_templates(choices);
  writer.join();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(choices[0].chat_template_text, "{{ p }}");
  EXPECT_EQ(choices[1].chat_template_text, "{{ p }}");
  EXPECT_EQ(choices[2].chat_template_text, std::nullopt);
  EXPECT_EQ(choices[3].chat_template_text, std::nullopt);
}

}  // namespace
}  // namespace windrow::fleet
