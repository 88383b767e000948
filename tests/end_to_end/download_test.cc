// Models that are elsewhere: `--model hf:...` and `--model https://...`, with a hub of the test's
// own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"
#include "model_store/testing/file_server.h"

namespace windrow::end_to_end {
namespace {

using model_store::testing::FileServer;
using model_store::testing::sha256_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kName = "hf:some/models/qwen3-f32.gguf";

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() {
    std::ifstream file(model_path("qwen3"), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    cdn_.put("/blob", bytes_);
    hub_.link("/some/models/resolve/main/qwen3-f32.gguf", cdn_.url("/blob"), bytes_);
  }

  Command command(const Words& words) const {
    Command command = folder_.command(words);
    command.variables["HF_ENDPOINT"] = hub_.url();
    command.variables["HF_TOKEN"] = "secret-token";
    command.variables["XDG_CACHE_HOME"] = folder_.path("cache");
    return command;
  }

  std::string cached(const std::string& ending = "") const {
    return "cache/windrow/models/hf/some/models/main/qwen3-f32.gguf" + ending;
  }

  JobFolder folder_;
  std::string bytes_;
  FileServer cdn_;
  FileServer hub_;
};

TEST_F(DownloadTest, ARunFetchesItsModelOnce) {
  folder_.write("in.jsonl", some_requests(4));
  const Words words = {"run", "in.jsonl", "-o", "out.jsonl", "--model", kName, "--json"};
  const Ended first = run(command(words));
  ASSERT_EQ(first.code, 0) << first;
  EXPECT_THAT(first.output + first.errors, Not(HasSubstr("secret-token")));
  EXPECT_EQ(folder_.read(cached()), bytes_);
  const size_t asked = hub_.requests().size();
  const Ended again = run(command(words));
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_EQ(hub_.requests().size(), asked);
  // A file of settings may name it too, wherever it lies.
  folder_.write("windrow.toml", std::string("model = \"") + kName + "\"\n");
  EXPECT_EQ(run(command({"run", "in.jsonl", "-o", "other.jsonl"})).code, 0);
}

TEST_F(DownloadTest, InspectTakesAUrlWithItsHash) {
  const std::string url = cdn_.url("/m/x.gguf?key=hidden");
  cdn_.put("/m/x.gguf", bytes_);
  const Ended good = run(command({"inspect", url + "#sha256=" + sha256_of(bytes_)}));
  EXPECT_EQ(good.code, 0) << good;
  EXPECT_THAT(good.output, HasSubstr("x.gguf"));
  EXPECT_THAT(good.output + good.errors, Not(HasSubstr("hidden")));
  const Ended bad = run(command({"inspect", url + "#sha256=" + std::string(64, 'a')}));
  EXPECT_EQ(bad.code, 3) << bad;
  EXPECT_THAT(bad.errors, AllOf(HasSubstr("another file"), Not(HasSubstr("hidden"))));
}

TEST_F(DownloadTest, KilledItGoesOnWhereItWas) {
  // The second half of the file never comes, so the download is still running when it is killed.
  cdn_.set_spoil([this](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    reply.bytes_max = bytes_.size() / 2;
    reply.end = http::testing::TestReply::End::kStall;
  });
  {
    Process process(command({"inspect", kName}));
    ASSERT_TRUE(
        process.wait_until([&] { return folder_.size_of(cached(".part")) > bytes_.size() / 10; }));
    process.send(SIGKILL);
    EXPECT_EQ(process.wait().signal, SIGKILL);
  }
  const uint64_t there = folder_.size_of(cached(".part"));
  ASSERT_LT(there, bytes_.size());
  cdn_.set_spoil(nullptr);
  const Ended ended = run(command({"inspect", kName}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("going on after the"));
  EXPECT_EQ(folder_.read(cached()), bytes_);
  EXPECT_EQ(cdn_.requests("GET").back().headers.get("range"),
            std::optional<std::string_view>("bytes=" + std::to_string(there) + "-"));
  EXPECT_FALSE(folder_.has(cached(".part")));
}

TEST_F(DownloadTest, CtrlCKeepsWhatIsThere) {
  folder_.write("in.jsonl", some_requests(1));
  cdn_.set_spoil([](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    reply.bytes_max = 20'000;
    reply.end = http::testing::TestReply::End::kStall;
  });
  Process process(command({"run", "in.jsonl", "-o", "out.jsonl", "--model", kName}));
  ASSERT_TRUE(process.wait_until([&] { return folder_.size_of(cached(".part")) > 1000; }));
  process.send(SIGINT);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("what was downloaded is kept"));
  EXPECT_FALSE(folder_.has("out.jsonl"));
}

TEST_F(DownloadTest, SaysWhatIsWrongBeforeAnythingElse) {
  folder_.write("in.jsonl", some_requests(1));
  const Ended none =
      run(command({"run", "in.jsonl", "-o", "out.jsonl", "--model", "hf:some/models/no.gguf"}));
  EXPECT_EQ(none.code, 2) << none;
  EXPECT_THAT(none.errors, HasSubstr("/some/models/tree/main lists the files"));
  const Ended form = run(command({"inspect", "hf:some/models"}));
  EXPECT_EQ(form.code, 2) << form;
  EXPECT_THAT(form.errors, HasSubstr("name a file in it"));
  EXPECT_FALSE(folder_.has("out.jsonl"));
}

}  // namespace
}  // namespace windrow::end_to_end
