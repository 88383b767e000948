#include "app/serve_options.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "store/posix_disk.h"

namespace windrow::app {
namespace {

std::string why(const Settings& settings) {
  const Result<ServeOptions> options = serve_options(settings);
  return options ? "accepted" : options.error().message;
}

TEST(ServeOptions, OtherMachinesNeedAKey) {
  EXPECT_EQ(why({}), "accepted");
  EXPECT_EQ(why({.listen = "[::1]:0"}), "accepted");
  EXPECT_EQ(why({.listen = "0.0.0.0:8080"}),
            "--listen 0.0.0.0:8080 lets other machines ask, and nobody would need a key; make one "
            "with `windrow keys add keys.txt NAME` and add --api-keys keys.txt "
            "(--insecure-no-keys does without)");
  EXPECT_EQ(why({.listen = "0.0.0.0:8080", .api_keys = "keys.txt"}), "accepted");
  EXPECT_EQ(why({.listen = "0.0.0.0:8080", .insecure_no_keys = true}), "accepted");
  EXPECT_EQ(why({.api_keys = "keys.txt", .insecure_no_keys = true}),
            "--insecure-no-keys and --api-keys contradict each other; leave one out");
}

TEST(ServeOptions, WhatBelongsTogetherIsGivenTogether) {
  EXPECT_EQ(why({.tls_cert = "c.pem"}),
            "--tls-cert needs --tls-key: a certificate and its key belong together");
  EXPECT_EQ(why({.tls_key = "k.pem"}),
            "--tls-key needs --tls-cert: a certificate and its key belong together");
  EXPECT_EQ(why({.tls_cert = "c.pem", .tls_key = "k.pem"}), "accepted");
  EXPECT_EQ(why({.log_prompts = true}),
            "--log-prompts needs --log: there is no log they could go into");
  EXPECT_EQ(why({.log = "-", .log_prompts = true}), "accepted");
}

TEST(ServeOptions, AliasesAreFurtherNamesOfModels) {
  const auto aliases = [](std::vector<std::string> texts) {
    const auto made = local_aliases({.model_aliases = std::move(texts)}, {"chat", "embed"});
    if (!made) return made.error().message;
    std::string text;
    for (const auto& [name, model] : *made)
      text += name + ">" + model + " ";
    return text;
  };
  EXPECT_EQ(aliases({"gpt-4o=chat", "gpt-4=chat", "ada=embed"}),
            "ada>embed gpt-4>chat gpt-4o>chat ");
  EXPECT_EQ(aliases({"gpt-4o"}),
            "--model-alias gpt-4o: write NAME=MODEL, a further name of a model");
  EXPECT_EQ(aliases({"a=b"}), "--model-alias a=b: no model is called b; there is chat, embed");
  EXPECT_EQ(aliases({"chat=embed"}), "--model-alias chat=embed: a model is called chat already");
  EXPECT_EQ(aliases({"a=chat", "a=embed"}), "--model-alias a=embed: a stands for chat already");
}

TEST(ServeOptions, ADataFolderIsOfOneServerAtATime) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "serve_options" / "data";
  std::filesystem::remove_all(folder.parent_path());
  store::PosixDisk disk;
  const Settings settings{.data_dir = folder.string()};
  {
    const auto held = hold_data_dir(settings, disk);
    ASSERT_TRUE(held.has_value()) << held.error().message;
    EXPECT_TRUE(std::filesystem::is_directory(folder));
    const auto again = hold_data_dir(settings, disk);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().kind, ErrorKind::kConflict);
  }
  EXPECT_TRUE(hold_data_dir(settings, disk).has_value());
  EXPECT_EQ(hold_data_dir({}, disk)->get(), nullptr);
  const auto in_a_file = hold_data_dir({.data_dir = (folder / "server.lock" / "x").string()}, disk);
  EXPECT_FALSE(in_a_file.has_value());
  std::filesystem::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace windrow::app
