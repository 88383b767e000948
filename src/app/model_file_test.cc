#include "app/model_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace windrow::app {
namespace {

class ModelFileTest : public ::testing::Test {
 protected:
  ModelFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "windrow_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~ModelFileTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  // What is said, without the path.
  static std::string problem(const std::string& path) {
    const Result<void> checked = check_model_file(path);
    if (checked) return "";
    EXPECT_TRUE(checked.error().message.starts_with(path + ": ")) << checked.error().message;
    return checked.error().message.substr(path.size() + 2);
  }

  std::filesystem::path folder_;
};

TEST_F(ModelFileTest, AGgufFileIsTaken) {
  EXPECT_EQ(problem(write("m.gguf", "GGUF\3")), "");
}

TEST_F(ModelFileTest, WhatIsNoModelIsNamed) {
  EXPECT_EQ(problem((folder_ / "none.gguf").string()), "there is no such model file");
  EXPECT_EQ(problem(write("notes.gguf", "my notes")),
            "this is not a GGUF file (it does not start with \"GGUF\"); other formats must be "
            "converted first");
  EXPECT_EQ(problem(write("short.gguf", "GG")),
            "this is not a GGUF file (it does not start with \"GGUF\"); other formats must be "
            "converted first");
  EXPECT_EQ(problem(write("empty.gguf", "")), "this file is empty; get the model again");
  EXPECT_EQ(problem(write("lfs.gguf", "version https://git-lfs.example/spec/v1\noid sha256:1\n")),
            "this is a Git LFS pointer, not the model itself; fetch it with git lfs pull");
}

TEST_F(ModelFileTest, AFolderNamesTheModelsInIt) {
  EXPECT_EQ(problem(folder_.string()), "this is a folder without .gguf files; name a model's file");
  const std::string b = write("b.gguf", "GGUF");
  const std::string a = write("a.gguf", "GGUF");
  EXPECT_EQ(problem(folder_.string()),
            "this is a folder; name a file in it, such as " + a + " or " + b);
}

}  // namespace
}  // namespace windrow::app
