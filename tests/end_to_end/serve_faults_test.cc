// Batches of `windrow serve` when the process dies, the disk is full or files are damaged: no row
// is lost or answered twice, and clients are served all the while.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "end_to_end/batch_calls.h"
#include "end_to_end/served.h"
#include "end_to_end/sim_upstream.h"

namespace windrow::end_to_end {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;

// Chats, one after the other, for as long as this is there.
class Chatter {
 public:
  explicit Chatter(const Served& served)
      : thread_([this, port = served.port()] {
          for (int number = 0; !over_; ++number) {
            const HttpReply reply =
                HttpCall(port, "POST", "/v1/chat/completions",
                         chat_body(fmt::format("chat {}", number), R"("max_tokens":8)"))
                    .rest();
            if (reply.status == 200) ++answered_;
            if (reply.status != 200 && reply.status != 0) ++refused_;
            if (reply.status == 0) windrow::testing::pause_between_looks();  // killed
          }
        }) {}
  ~Chatter() {
    over_ = true;
    thread_.join();
  }
  Chatter(const Chatter&) = delete;
  Chatter& operator=(const Chatter&) = delete;

  int64_t answered() const { return answered_; }
  int64_t refused() const { return refused_; }  // neither answered nor cut off

 private:
  std::atomic<bool> over_ = false;
  std::atomic<int64_t> answered_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::thread thread_;
};

// custom_id -> how often it is in both files of a batch that has ended.
std::map<std::string, int> results_of(const Served& served, const json::value& ended) {
  std::map<std::string, int> names;
  for (const char* member : {"output_file_id", "error_file_id"}) {
    if (ended.at(member).is_null()) continue;
    const std::string path = "/v1/files/" + text_of(ended, member) + "/content";
    for (const auto& [name, count] : names_in(served.get(path).body))
      names[name] += count;
  }
  return names;
}

// Why a batch does not go on; empty: it does.
std::string note_of(const json::value& batch) {
  const json::value* windrow = batch.as_object().if_contains("windrow");
  const bool has_note = windrow != nullptr && windrow->as_object().contains("note");
  return has_note ? text_of(*windrow, "note") : "";
}

void expect_each_once(const std::map<std::string, int>& names, int rows) {
  EXPECT_EQ(names.size(), static_cast<size_t>(rows));
  for (const auto& [name, count] : names)
    EXPECT_EQ(count, 1) << name;
}

// Clients chat meanwhile, and every process of the server answers them. The upstream counts the
// requests, as a provider that bills them would.
TEST(ServeFaults, KilledTenTimesEveryRowHasOneResultAndChatsGoOn) {
  constexpr int kRows = 5000;
  constexpr int kKills = 10;
  constexpr int kInFlight = 64;
  constexpr int kRequestMs = 250;  // so slowly that a quarter of a minute is too short for all rows
  constexpr uint64_t kSeed = 51;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  const JobFolder folder;
  const auto simulated = [&](int request_ms) {
    return std::make_unique<SimUpstream>(
        folder, Words{"--slots", "128", "--request-ms", fmt::format("{}", request_ms), "--token-ms",
                      "0", "--model", "sim", "--stats"});
  };
  const auto before_it = [&](const SimUpstream& upstream) {
    return Words{"--upstream", upstream.url(), "--concurrency", fmt::format("{}", kInFlight),
                 "--data-dir", "data"};
  };
  const auto slow = simulated(kRequestMs);
  std::string id;
  int64_t before = 0;
  int64_t chats = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    Served served(folder, before_it(*slow));
    ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
    if (id.empty()) id = create(served, upload(served, rows(kRows)));
    const Chatter chatter(served);
    const int64_t until = before + random.between(0, kInFlight);
    const json::value now = wait_until(served, id, [&](const json::value& at) {
      return (done(at) >= until && chatter.answered() > 1) || text_of(at, "status") == "completed";
    });
    ASSERT_NE(now.at("status"), "completed") << "too fast to be killed in the middle: " << now;
    served.process().send(SIGKILL);
    served.process().wait();
    before = std::max(before, done(now));
    EXPECT_EQ(chatter.refused(), 0);
    chats += chatter.answered() + 1;  // and one that was cut off
  }
  const auto quick = simulated(10);
  {
    Served last(folder, before_it(*quick));
    ASSERT_TRUE(last.wait_until_ready());
    const Chatter chatter(last);
    const json::value ended = wait_for_end(last, id);
    EXPECT_EQ(ended.at("status"), "completed") << ended;
    EXPECT_EQ(ended.at_pointer("/request_counts/completed"), kRows);
    EXPECT_EQ(chatter.refused(), 0);
    EXPECT_GT(chatter.answered(), 0);
    expect_each_once(results_of(last, ended), kRows);
    chats += chatter.answered() + 1;
    last.process().send(SIGTERM);
    EXPECT_EQ(last.process().wait().code, 0);
  }
  int64_t requests = 0;
  for (SimUpstream* upstream : {slow.get(), quick.get()}) {
    const Ended told = upstream->stop();
    const json::value paid = json::parse(told.output.substr(told.output.find("\n{") + 1));
    requests += paid.at("requests").as_int64();
  }
  EXPECT_GE(requests, kRows);
  // Requests that were in flight when the process died, and answers that had just come back.
  EXPECT_LE(requests, kRows + chats + int64_t{kKills} * 2 * kInFlight);
}

// --- a full disk ---------------------------------------------------------------------------------

// Limits the size of the process's files; a write beyond it fails as on a full disk.
void let_files_grow_to(const Served& served, rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(prlimit(const_cast<Served&>(served).process().id(), RLIMIT_FSIZE, nullptr, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(prlimit(const_cast<Served&>(served).process().id(), RLIMIT_FSIZE, &limit, nullptr), 0);
}

TEST(ServeFaults, AFullDiskStopsABatchAndNotTheChats) {
  constexpr int kRows = 3000;
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8", "--data-dir", "data"});
  ASSERT_TRUE(served.wait_until_ready());
  const std::string file = upload(served, rows(kRows));
  let_files_grow_to(served, 300'000);
  const std::string id = create(served, file);
  const json::value held = wait_until(served, id, [&](const json::value& at) {
    return !note_of(at).empty() || text_of(at, "status") == "completed";
  });
  ASSERT_EQ(held.at("status"), "in_progress") << held;
  EXPECT_THAT(note_of(held), HasSubstr("disk is full"));
  EXPECT_LT(done(held), kRows);
  EXPECT_EQ(served.post("/v1/chat/completions", chat_body("hello")).status, 200);
  EXPECT_EQ(served.upload("large.jsonl", rows(kRows)).status, 507);
  EXPECT_EQ(served.get("/v1/files/" + file).status, 200);

  let_files_grow_to(served, RLIM_INFINITY);
  const json::value ended = wait_for_end(served, id);
  EXPECT_EQ(ended.at("status"), "completed") << ended;
  EXPECT_EQ(note_of(ended), "");
  expect_each_once(results_of(served, ended), kRows);
}

// --- damage --------------------------------------------------------------------------------------

void overwrite(const std::string& path, uintmax_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
  ASSERT_TRUE(file.good()) << path;
}

struct Damage {
  const char* name;
  std::function<void(const std::string& data, const std::string& batch)> inflict;
  const char* said;      // in the log of the next start, or of its running
  bool is_known = true;  // the batch that was running is still there, and ends with every row
};

// Eight rows every half second, so that no test sees the end of hundreds; and without a pause.
const Words kSlow = {"--model",    "sim:step-us=50000,row-us=0,prompt-token-us=0,answer-tokens=8",
                     "--data-dir", "data",
                     "--rows-max", "8"};
const Words kInstant = {"--model", "sim:instant,answer-tokens=8", "--data-dir", "data"};

class DamagedData : public ::testing::TestWithParam<Damage> {};

INSTANTIATE_TEST_SUITE_P(
    , DamagedData,
    ::testing::Values(Damage{.name = "HeaderOfTheDatabase",
                             .inflict =
                                 [](const std::string& data, const std::string&) {
                                   overwrite(data + "/windrow.db", 0, std::string(100, 'x'));
                                 },
                             .said = "windrow.db.damaged-1",
                             .is_known = false},
                      Damage{.name = "APageOfTheDatabase",
                             .inflict =
                                 [](const std::string& data, const std::string&) {
                                   const uintmax_t size = fs::file_size(data + "/windrow.db");
                                   ASSERT_GE(size, 3U * 4096);
                                   overwrite(data + "/windrow.db", 4096, std::string(4096, 'x'));
                                 },
                             .said = "windrow.db.damaged-1",
                             .is_known = false},
                      Damage{.name = "ALineInTheMiddleOfALog",
                             .inflict =
                                 [](const std::string& data, const std::string& batch) {
                                   const std::string log =
                                       data + "/batches/" + batch + "/results.jsonl";
                                   // No JSON text has this byte, wherever in a line it lies.
                                   overwrite(log, fs::file_size(log) / 2, std::string(1, '\1'));
                                 },
                             .said = "lines lost: 1; the rows of lost lines run again"},
                      Damage{.name = "ALogCutInTheMiddleOfALine",
                             .inflict =
                                 [](const std::string& data, const std::string& batch) {
                                   const std::string log =
                                       data + "/batches/" + batch + "/results.jsonl";
                                   fs::resize_file(log, fs::file_size(log) / 2 + 17);
                                 },
                             .said = ""},
                      Damage{.name = "ALogThatIsGone",
                             .inflict =
                                 [](const std::string& data, const std::string& batch) {
                                   fs::remove(data + "/batches/" + batch + "/results.jsonl");
                                 },
                             .said = ""}),
    [](const auto& each) { return each.param.name; });

TEST_P(DamagedData, IsNamedAndPutAsideAndTheRestServes) {
  constexpr int kRows = 600;
  const JobFolder folder;
  std::string id;
  {
    Served served(folder, kSlow);
    ASSERT_TRUE(served.wait_until_ready());
    // So many that the database has several pages.
    for (int i = 0; i < 20; ++i)
      upload(served, rows(1));
    id = create(served, upload(served, rows(kRows)));
    wait_until(served, id, [](const json::value& now) { return done(now) > 16; });
    // Stopped, so that the database lies in one file.
    served.process().send(SIGTERM);
    EXPECT_EQ(served.process().wait().code, 0);
  }
  GetParam().inflict(folder.path("data"), id);

  Served again(folder, kInstant);
  ASSERT_TRUE(again.wait_until_ready()) << again.process().wait();
  EXPECT_EQ(again.post("/v1/chat/completions", chat_body("hello")).status, 200);
  const std::string other = create(again, upload(again, rows(5)));
  EXPECT_EQ(wait_for_end(again, other).at("status"), "completed");
  if (GetParam().is_known) {
    const json::value ended = wait_for_end(again, id);
    EXPECT_EQ(ended.at("status"), "completed") << ended;
    expect_each_once(results_of(again, ended), kRows);
  } else {
    EXPECT_EQ(again.get("/v1/batches/" + id).status, 404);
  }
  again.process().send(SIGTERM);
  EXPECT_THAT(again.process().wait().errors, HasSubstr(GetParam().said));
}

// The bytes of an uploaded file are gone: the batch that reads it says so, and no other one waits.
TEST(ServeFaults, AnInputWhoseBytesAreGoneConcernsItsBatchAlone) {
  const JobFolder folder;
  std::string file;
  std::string id;
  {
    Served served(folder, kSlow);
    ASSERT_TRUE(served.wait_until_ready());
    file = upload(served, rows(600));
    id = create(served, file);
    wait_until(served, id, [](const json::value& now) { return done(now) > 16; });
    served.process().send(SIGKILL);
    served.process().wait();
  }
  fs::remove(folder.path("data/files/" + file));
  Served again(folder, kInstant);
  ASSERT_TRUE(again.wait_until_ready());
  const HttpReply content = again.get("/v1/files/" + file + "/content");
  EXPECT_EQ(content.status, 404);
  EXPECT_THAT(content.body, HasSubstr("file_bytes_missing"));
  const json::value held =
      wait_until(again, id, [](const json::value& at) { return !note_of(at).empty(); });
  EXPECT_EQ(held.at("status"), "in_progress");
  EXPECT_THAT(note_of(held), HasSubstr("upload the file again"));
  const std::string other = create(again, upload(again, rows(5)));
  EXPECT_EQ(wait_for_end(again, other).at("status"), "completed");
  // Its results so far are not lost.
  EXPECT_EQ(again.post("/v1/batches/" + id + "/cancel", "").status, 200);
  const json::value ended = wait_for_end(again, id);
  EXPECT_EQ(ended.at("status"), "cancelled");
  const std::map<std::string, int> names = results_of(again, ended);
  EXPECT_GT(names.size(), 16U);
  EXPECT_TRUE(std::ranges::all_of(names, [](const auto& name) { return name.second == 1; }));
}

}  // namespace
}  // namespace windrow::end_to_end
