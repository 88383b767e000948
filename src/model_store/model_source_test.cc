#include "model_store/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace windrow::model_store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<std::vector<ModelSource>> parse(std::string_view text) {
  return parse_source(text, http::parse_url(kDefaultHub).value());
}

ModelSource one(std::string_view text) {
  const Result<std::vector<ModelSource>> sources = parse(text);
  EXPECT_TRUE(sources.has_value()) << sources.error().message;
  if (!sources) return {};
  EXPECT_EQ(sources->size(), 1U);
  return sources->front();
}

std::string refused(std::string_view text) {
  const Result<std::vector<ModelSource>> sources = parse(text);
  return sources ? "accepted" : sources.error().message;
}

TEST(ModelSource, KnowsWhatIsElsewhere) {
  for (const char* text : {"hf:o/r/f.gguf", "https://h/f.gguf", "HTTP://h/f.gguf"})
    EXPECT_TRUE(is_remote(text)) << text;
  for (const char* text : {"model.gguf", "/models/hf:x.gguf", "./https:/x", "h", ""})
    EXPECT_FALSE(is_remote(text)) << text;
}

TEST(ModelSource, AFileOfTheHub) {
  const ModelSource source = one("hf:Owner/my-Repo.v1/sub dir/f+1.gguf@refs/pr/2");
  EXPECT_EQ(http::to_string(source.url),
            "https://huggingface.co/Owner/my-Repo.v1/resolve/refs%2Fpr%2F2/sub%20dir/f%2B1.gguf");
  EXPECT_EQ(source.folder, "hf/Owner/my-Repo.v1/refs_pr_2/sub_dir");
  EXPECT_EQ(source.file, "f_1.gguf");
  EXPECT_EQ(source.repository, "Owner/my-Repo.v1");
  EXPECT_TRUE(source.of_hub);
  EXPECT_EQ(one("hf:o/r/f.gguf").revision, "main");
  EXPECT_EQ(one("hf:o/r/f.GGUF").file, "f.GGUF");
}

TEST(ModelSource, AMirrorMayHaveAPath) {
  const auto sources =
      parse_source("hf:o/r/f.gguf", http::parse_url("http://127.0.0.1:9/hub/").value());
  EXPECT_EQ(http::to_string(sources.value().front().url),
            "http://127.0.0.1:9/hub/o/r/resolve/main/f.gguf");
}

TEST(ModelSource, AFileOfAnyServer) {
  const std::string hash(64, 'b');
  const ModelSource source = one("https://h:8443/a/f%20x.gguf?sig=secret#sha256=" + hash);
  EXPECT_EQ(http::to_string(source.url), "https://h:8443/a/f%20x.gguf?sig=secret");
  EXPECT_EQ(source.text, "https://h:8443/a/f%20x.gguf");
  EXPECT_EQ(source.file, "f_x.gguf");
  EXPECT_EQ(source.sha256, hash);
  EXPECT_FALSE(source.of_hub);
  // A name alone does not make a file: two of one name keep apart, one by its hash is the same.
  const auto folder = [&](const std::string& url) { return one(url).folder; };
  EXPECT_NE(folder("https://h/a/f.gguf"), folder("https://h/b/f.gguf"));
  EXPECT_EQ(folder("https://h/a/f.gguf#sha256=" + hash),
            folder("https://h/b/f.gguf?x#sha256=" + hash));
}

TEST(ModelSource, AllPartsOfASplitModel) {
  EXPECT_THAT(
      parts_of("m-00002-of-00003.gguf"),
      ElementsAre("m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"));
  for (const char* name :
       {"m.gguf", "m-00004-of-00003.gguf", "m-00000-of-00003.gguf", "m-0001-of-0003.gguf",
        "-00001-of-00003.gguf", "m-00001-of-00003.bin", "m_00001-of-00003.gguf"})
    EXPECT_THAT(parts_of(name), IsEmpty()) << name;

  const auto hub = parse("hf:o/r/q8/m-00002-of-00002.gguf@v1").value();
  ASSERT_EQ(hub.size(), 2U);
  EXPECT_EQ(hub[0].file, "m-00001-of-00002.gguf");
  EXPECT_EQ(hub[1].text, "hf:o/r/q8/m-00002-of-00002.gguf@v1");
  EXPECT_EQ(hub[0].url.target, "/o/r/resolve/v1/q8/m-00001-of-00002.gguf");
  EXPECT_EQ(hub[0].folder, hub[1].folder);

  const auto web = parse("https://h/m-00002-of-00002.gguf?k=1#sha256=" + std::string(64, 'c'));
  ASSERT_EQ(web.value().size(), 2U);
  EXPECT_EQ(web.value()[0].sha256, "");
  EXPECT_EQ(web.value()[1].sha256, std::string(64, 'c'));
  EXPECT_EQ(web.value()[0].url.target, "/m-00001-of-00002.gguf?k=1");
  EXPECT_EQ(web.value()[0].folder, web.value()[1].folder);
  EXPECT_EQ(one("https://h/m.gguf").folder, one("https://h/m.gguf").folder);
}

TEST(ModelSource, MistakesAreExplained) {
  EXPECT_THAT(refused("hf:o/r"), HasSubstr("name a file in it: hf:o/r/FILE.gguf, as "
                                           "https://huggingface.co/o/r/tree/main lists them"));
  EXPECT_THAT(refused("hf:o"), HasSubstr("write hf:OWNER/REPO/FILE.gguf"));
  EXPECT_THAT(refused("hf:o/r/f.safetensors"), HasSubstr("no .gguf file"));
  EXPECT_THAT(refused("https://h/f.bin"), HasSubstr("must end with the name of a .gguf file"));
  EXPECT_THAT(refused("https://h/f.gguf#sha256=12"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(refused("https://h/f.gguf#main"), HasSubstr("sha256="));
  EXPECT_THAT(refused("http://h/f.gguf"), HasSubstr("write https://, or state the hash"));
  EXPECT_EQ(refused("http://127.0.0.1:8000/f.gguf"), "accepted");
  EXPECT_EQ(refused("http://h/f.gguf#sha256=" + std::string(64, '0')), "accepted");
}

TEST(ModelSource, NothingLeadsOutOfTheFolder) {
  for (const char* text :
       {"hf:o/r/../f.gguf", "hf:../r/f.gguf", "hf:o/r/f.gguf@../../x", "hf:o/r//f.gguf",
        "hf:o/r/a\\..\\f.gguf", "hf:o/r/f.gguf@", "hf:o/r/a\n.gguf"})
    EXPECT_THAT(refused(text), HasSubstr("write hf:")) << text;
  EXPECT_EQ(one("https://h/..%2F..%2Fx.gguf").file, "_._.._x.gguf");
  for (const char* text : {"https://h/..%2F..%2Fx.gguf", "hf:.o/..r/.f.gguf"}) {
    const ModelSource source = one(text);
    EXPECT_EQ(source.file.find('/'), std::string::npos);
    EXPECT_EQ((source.folder + "/" + source.file).find("/."), std::string::npos) << source.folder;
  }
}

}  // namespace
}  // namespace windrow::model_store
