// The store and its downloads against real servers on loopback that do what servers do to people.
#include "model_store/model_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "http/curl_client.h"
#include "http/loop.h"
#include "model_store/testing/file_server.h"
#include "store/posix_disk.h"
#include "store/testing/faulty_disk.h"

namespace windrow::model_store {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using testing::FileServer;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::model_bytes;
using testing::sha256_of;
using End = http::testing::TestReply::End;

constexpr std::string_view kTarget = "/o/r/resolve/main/f.gguf";
constexpr std::string_view kName = "hf:o/r/f.gguf";
constexpr size_t kSize = 300'000;

std::string header(const FileServer::Request& request, std::string_view name) {
  return std::string(request.headers.get(name).value_or(""));
}

class ModelStoreTest : public ::testing::Test {
 protected:
  ModelStoreTest() {
    std::string pattern = ::testing::TempDir() + "windrow-store-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    options_.folder = folder_ + "/models";
    options_.hub = hub_.url();
    options_.wait = [this](Duration) {
      ++waits_;
      if (on_wait_) on_wait_();
    };
    events_.on_note = [this](const std::string& note) { notes_.push_back(note); };
  }
  ~ModelStoreTest() override { fs::remove_all(folder_); }

  // A model on the hub, which sends on to another server as the real one does.
  void serve(const std::string& bytes) {
    cdn_.put("/blob", bytes);
    hub_.link(std::string(kTarget), cdn_.url("/blob?signature=1"), bytes);
  }

  Result<std::string> fetch(std::string_view text = kName) {
    return ModelStore(client_, *disk_, options_).fetch(text, events_);
  }

  std::string fetched(std::string_view text = kName) {
    const Result<std::string> path = fetch(text);
    if (!path) return "failed: " + path.error().message;
    std::ifstream file(*path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  Error error_of(std::string_view text = kName) {
    const Result<std::string> path = fetch(text);
    EXPECT_FALSE(path.has_value());
    return path ? Error{} : path.error();
  }

  std::string path(std::string_view name) const {
    return options_.folder + "/hf/o/r/main/" + std::string(name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(options_.folder)) {
      if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  std::string folder_;
  FileServer hub_;
  FileServer cdn_;
  SystemClock clock_;
  http::Loop loop_{clock_};
  http::CurlClient client_{loop_, {}};
  store::PosixDisk posix_;
  store::Disk* disk_ = &posix_;
  ModelStoreOptions options_;
  DownloadEvents events_;
  std::vector<std::string> notes_;
  std::function<void()> on_wait_;
  int waits_ = 0;
};

// --- all is well --------------------------------------------------------------------------------

TEST_F(ModelStoreTest, FetchesOnceAndThenAsksNoServer) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  EXPECT_EQ(fetched(), bytes);
  EXPECT_EQ(names(), (std::vector<std::string>{"f.gguf", "f.gguf.json", "f.gguf.lock"}));
  const size_t asked = hub_.requests().size();
  EXPECT_EQ(fetched(), bytes);
  EXPECT_EQ(hub_.requests().size(), asked);
  // One that was cut since is not the model any more.
  fs::resize_file(path("f.gguf"), 100);
  EXPECT_EQ(fetched(), bytes);
}

TEST_F(ModelStoreTest, TheTokenIsForTheHubAlone) {
  options_.token = "secret";
  serve(model_bytes(kSize));
  fetched();
  ASSERT_FALSE(cdn_.requests().empty());
  for (const auto& request : hub_.requests())
    EXPECT_EQ(header(request, "authorization"), "Bearer secret");
  for (const auto& request : cdn_.requests())
    EXPECT_EQ(header(request, "authorization"), "");
  hub_.put("/x.gguf", model_bytes(kSize));
  fetched(hub_.url("/x.gguf"));
  EXPECT_EQ(header(hub_.requests().back(), "authorization"), "");
}

TEST_F(ModelStoreTest, ASplitModelComesWhole) {
  std::string all;
  for (const char* part : {"1", "2", "3"}) {
    const std::string name = fmt::format("m-0000{}-of-00003.gguf", part);
    hub_.put("/o/r/resolve/main/" + name, model_bytes(1000, part));
  }
  const Result<std::string> first = fetch("hf:o/r/m-00003-of-00003.gguf");
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_TRUE(first->ends_with("/m-00001-of-00003.gguf"));
  EXPECT_EQ(fs::file_size(path("m-00002-of-00003.gguf")), 1000U);
  EXPECT_EQ(fetched("hf:o/r/m-00003-of-00003.gguf"), model_bytes(1000, "1"));
  EXPECT_THAT(notes_, Contains(HasSubstr("#sha256=" + sha256_of(model_bytes(1000, "2")))));
}

TEST_F(ModelStoreTest, AnyServerWillDo) {
  const std::string bytes = model_bytes(kSize);
  cdn_.put("/dir/f.gguf", bytes);
  const std::string url = cdn_.url("/dir/f.gguf?key=1");
  EXPECT_EQ(fetched(url), bytes);
  EXPECT_THAT(notes_, Contains(HasSubstr("#sha256=" + sha256_of(bytes))));
  EXPECT_EQ(fetched(url + "#sha256=" + sha256_of(bytes)), bytes);
  EXPECT_THAT(error_of(url + "#sha256=" + std::string(64, '0')).message,
              HasSubstr("as #sha256= says"));
}

TEST_F(ModelStoreTest, AServerMayKnowNoHead) {
  const std::string bytes = model_bytes(kSize);
  cdn_.put("/f.gguf", bytes);
  cdn_.set_spoil([](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method == "HEAD") reply = {.status = 405};
  });
  EXPECT_EQ(fetched(cdn_.url("/f.gguf")), bytes);
}

// --- broken off ---------------------------------------------------------------------------------

TEST_F(ModelStoreTest, GoesOnWhereTheConnectionBroke) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  cdn_.set_spoil([](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    reply.bytes_max = 100'000;
    reply.end = End::kClose;
  });
  EXPECT_EQ(fetched(), bytes);
  const auto gets = cdn_.requests("GET");
  ASSERT_EQ(gets.size(), 4U);
  EXPECT_EQ(header(gets[0], "range"), "");
  EXPECT_THAT(header(gets[1], "range"), AllOf(HasSubstr("bytes=99"), HasSubstr("-")));
  EXPECT_EQ(header(gets[1], "if-range"), "\"v1\"");
  EXPECT_GT(waits_, 0);
}

TEST_F(ModelStoreTest, GoesOnAfterAnotherProcessGaveUp) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  int gets = 0;
  cdn_.set_spoil([&](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    if (gets++ == 0) {
      reply.bytes_max = 200'000;
      reply.end = End::kClose;
    } else if (gets <= 6) {
      reply = {.status = 503};
    }
  });
  const Error error = error_of();
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("503"));
  EXPECT_EQ(names(), (std::vector<std::string>{"f.gguf.lock", "f.gguf.part", "f.gguf.part.json"}));
  EXPECT_EQ(fetched(), bytes);
  EXPECT_THAT(header(cdn_.requests("GET").back(), "range"), HasSubstr("bytes=199"));
  EXPECT_THAT(notes_, Contains(HasSubstr("going on after the")));
}

TEST_F(ModelStoreTest, AServerWithoutRangesBeginsAgain) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  bool broke = false;
  cdn_.set_spoil([&](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    reply.status = 200;
    reply.body = bytes;
    if (std::exchange(broke, true)) return;
    reply.bytes_max = 100'000;
    reply.end = End::kClose;
  });
  EXPECT_EQ(fetched(), bytes);
  EXPECT_THAT(notes_, Contains(HasSubstr("began with the first byte again")));
}

TEST_F(ModelStoreTest, AFileThatChangedMeanwhileIsTheNewOneAndNoMixture) {
  const std::string before = model_bytes(kSize, "old");
  const std::string after = model_bytes(kSize, "new");
  cdn_.put("/f.gguf", before, "\"1\"");
  int gets = 0;
  cdn_.set_spoil([&](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    if (gets++ == 0) {
      reply.bytes_max = 100'000;
      reply.end = End::kClose;
    }
  });
  on_wait_ = [&] { cdn_.put("/f.gguf", after, "\"2\""); };
  EXPECT_EQ(fetched(cdn_.url("/f.gguf")), after);
  EXPECT_EQ(header(cdn_.requests("GET").back(), "if-range"), "\"1\"");
}

TEST_F(ModelStoreTest, WithoutEtagAndHashNothingIsGlued) {
  const std::string bytes = model_bytes(kSize);
  cdn_.put("/f.gguf", bytes, "");
  int gets = 0;
  cdn_.set_spoil([&](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET" || gets++ > 0) return;
    reply.bytes_max = 100'000;
    reply.end = End::kClose;
  });
  EXPECT_EQ(fetched(cdn_.url("/f.gguf")), bytes);
  EXPECT_EQ(header(cdn_.requests("GET").back(), "range"), "");
}

TEST_F(ModelStoreTest, ARangeThatWasNotAskedForIsNotTaken) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  int gets = 0;
  cdn_.set_spoil([&](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    ++gets;
    if (gets == 1) {
      reply.bytes_max = 100'000;
      reply.end = End::kClose;
    } else if (gets == 2) {
      reply.headers.set("Content-Range", fmt::format("bytes 7-{}/{}", kSize - 1, kSize));
    }
  });
  EXPECT_EQ(fetched(), bytes);
}

TEST_F(ModelStoreTest, GivesUpAfterFiveAttemptsThatBringNothing) {
  serve(model_bytes(kSize));
  cdn_.set_spoil([](const FileServer::Request& request, FileServer::Reply& reply) {
    if (request.method != "GET") return;
    reply.bytes_max = 20;
    reply.end = End::kReset;
  });
  EXPECT_THAT(error_of().message, HasSubstr("the same command goes on"));
  EXPECT_EQ(waits_, 4);
}

// --- what is wrong ------------------------------------------------------------------------------

TEST_F(ModelStoreTest, AWrongHashIsFoundAndNothingKept) {
  serve(model_bytes(kSize));
  cdn_.put("/blob", model_bytes(kSize, "b"));
  const Error error = error_of();
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(sha256_of(model_bytes(kSize, "b"))), HasSubstr("It was deleted")));
  EXPECT_EQ(names(), (std::vector<std::string>{"f.gguf.lock"}));
}

TEST_F(ModelStoreTest, AWebPageIsNoModel) {
  hub_.put(std::string(kTarget), "<!doctype html>" + std::string(kSize, 'x'));
  EXPECT_THAT(error_of().message, HasSubstr("web page"));
  hub_.put(std::string(kTarget), "version https://git-lfs" + std::string(kSize, 'x'));
  EXPECT_THAT(error_of().message, HasSubstr("no GGUF file"));
  hub_.put(std::string(kTarget), "");
  EXPECT_THAT(error_of().message, HasSubstr("empty"));
  EXPECT_THAT(names(), ::testing::Not(Contains("f.gguf")));
}

TEST_F(ModelStoreTest, WhatIsNotThereOrNotAllowedIsSaid) {
  const Error none = error_of();
  EXPECT_EQ(none.kind, ErrorKind::kNotFound);
  EXPECT_THAT(none.message, HasSubstr("lists the files"));
  hub_.put_reply(std::string(kTarget), {.status = 401});
  EXPECT_THAT(error_of().message, HasSubstr("set HF_TOKEN"));
  options_.token = "t";
  hub_.put_reply(std::string(kTarget), {.status = 403});
  EXPECT_THAT(error_of().message, HasSubstr("account of HF_TOKEN"));
  EXPECT_EQ(waits_, 0);
  options_.hub = fmt::format("http://127.0.0.1:{}", http::testing::closed_port());
  EXPECT_THAT(error_of().message, HasSubstr("nothing listens there"));
  options_.hub = "http://hub.example";
  EXPECT_THAT(error_of().message, HasSubstr("HF_ENDPOINT"));
}

TEST_F(ModelStoreTest, CirclesEnd) {
  FileServer::Reply reply{.status = 302};
  reply.headers.add("Location", std::string(kTarget));
  hub_.put_reply(std::string(kTarget), reply);
  EXPECT_THAT(error_of().message, HasSubstr("in circles"));
}

TEST_F(ModelStoreTest, RoomIsLookedForBefore) {
  serve(model_bytes(kSize));
  options_.free_bytes = [](const std::string&) { return uint64_t{1000}; };
  const Error error = error_of();
  EXPECT_EQ(error.kind, ErrorKind::kDiskFull);
  EXPECT_THAT(error.message, AllOf(HasSubstr("293 KiB are to come"), HasSubstr("XDG_CACHE_HOME")));
  EXPECT_THAT(cdn_.requests("GET"), IsEmpty());
}

TEST_F(ModelStoreTest, AFullDiskKeepsWhatIsThere) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  store::testing::FaultyDisk full(posix_, {.bytes_until_full = 150'000});
  disk_ = &full;
  const Error error = error_of();
  EXPECT_EQ(error.kind, ErrorKind::kDiskFull);
  EXPECT_THAT(error.message, HasSubstr("make room"));
  disk_ = &posix_;
  EXPECT_EQ(fetched(), bytes);
  EXPECT_THAT(header(cdn_.requests("GET").back(), "range"), HasSubstr("bytes=1"));
}

// However it is killed, the next one ends with the file.
TEST_F(ModelStoreTest, DeathAtAnyOperationCostsNothing) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  for (int64_t operations = 1; operations <= 40; ++operations) {
    fs::remove_all(options_.folder);
    store::testing::FaultyDisk dying(posix_, {.operations_until_death = operations});
    disk_ = &dying;
    (void)fetch();
    disk_ = &posix_;
    ASSERT_EQ(fetched(), bytes) << "death after " << operations;
  }
}

TEST_F(ModelStoreTest, TwoDoNotDownloadTheSame) {
  const std::string bytes = model_bytes(kSize);
  serve(bytes);
  fs::create_directories(options_.folder + "/hf/o/r/main");
  auto held = posix_.lock(path("f.gguf.lock"));
  ASSERT_TRUE(held.has_value());
  on_wait_ = [&] {
    // The other one is done.
    if (waits_ != 3) return;
    std::ofstream(path("f.gguf"), std::ios::binary) << bytes;
    held->reset();
  };
  EXPECT_EQ(fetched(), bytes);
  EXPECT_EQ(waits_, 3);
  EXPECT_THAT(notes_, Contains(HasSubstr("waiting for another download")));
  EXPECT_THAT(hub_.requests(), IsEmpty());
}

}  // namespace
}  // namespace windrow::model_store
