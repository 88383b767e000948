// The models of the repository as files: small enough for it, and what they say they are.
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

#include "end_to_end/job_folder.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

struct ModelFile {
  std::string name;
  uint64_t bytes_max;
  bool embeds;  // the other one chats
};

void PrintTo(const ModelFile& file, std::ostream* stream) {
  *stream << file.name;
}

class Files : public ::testing::TestWithParam<ModelFile> {
 protected:
  static std::string path() { return WINDROW_MODELS_DIR "/" + GetParam().name; }
};

TEST_P(Files, AreSmallEnoughForTheRepository) {
  ASSERT_TRUE(std::filesystem::exists(path()));
  EXPECT_LE(std::filesystem::file_size(path()), GetParam().bytes_max);
}

TEST_P(Files, SayWhatTheyAreAndUnderWhichLicence) {
  JobFolder folder;
  const Ended ended = folder.windrow({"inspect", "--json", path()});
  ASSERT_EQ(ended.code, 0) << ended;
  const json::object facts = json::parse(ended.output).as_object();
  EXPECT_EQ(facts.at("license").as_string(), "apache-2.0");
  if (GetParam().embeds) {
    EXPECT_FALSE(facts.at("pooling").as_string().empty());
  } else {
    EXPECT_EQ(facts.at("chat_supported"), true);
  }
  EXPECT_FALSE(facts.at("name").as_string().empty());
  const auto weights = facts.at("weights_bytes").to_number<uint64_t>();
  EXPECT_GT(weights, 0U);
  EXPECT_LE(weights, std::filesystem::file_size(path()));
}

std::string name_of(const ::testing::TestParamInfo<ModelFile>& info) {
  return info.param.embeds ? "embed" : "demo";
}

INSTANTIATE_TEST_SUITE_P(Models, Files,
                         ::testing::Values(ModelFile{"windrow-demo.gguf", 12'000'000, false},
                                           ModelFile{"windrow-embed.gguf", 6'000'000, true}),
                         name_of);

}  // namespace
}  // namespace windrow::end_to_end
