// Models divided among RPC workers, as users do it: the program, its workers on loopback, and what
// happens when one of them is not there, or not any more.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "devices/backends_folder.h"
#include "end_to_end/job_folder.h"
#include "end_to_end/process.h"

namespace windrow::devices {
namespace {

using end_to_end::Command;
using end_to_end::Ended;
using end_to_end::JobFolder;
using end_to_end::Process;
using end_to_end::Words;
using ::testing::HasSubstr;

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// A port that is free at the moment: libggml does not tell which one it got.
uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

bool listens(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const bool connected =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

class Rpc : public ::testing::Test {
 protected:
  Command command(const Words& words) const {
    Command command = folder_.command(words);
    command.variables["WINDROW_GGML_BACKENDS"] = backends_.path();
    return command;
  }

  std::unique_ptr<Process> start_worker(uint16_t port) const {
    auto worker = std::make_unique<Process>(command({"rpc-worker", "--listen", name_of(port)}));
    EXPECT_TRUE(worker->wait_until([&] { return listens(port); })) << worker->errors();
    return worker;
  }

  static std::string name_of(uint16_t port) { return fmt::format("127.0.0.1:{}", port); }

  // A job whose model is divided in halves.
  Words halves(std::string_view output, uint16_t first, uint16_t second,
               const Words& more = {}) const {
    Words words = end_to_end::exact_run(
        "rows.jsonl", output,
        {"--rpc", name_of(first), "--rpc", name_of(second), "--tensor-split", "1,1"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const BackendsFolder backends_{"rpc"};
  const JobFolder folder_;
};

TEST_F(Rpc, TwoWorkersHoldHalvesOfAModelAndAnswerAsOneMachine) {
  folder_.use_model(end_to_end::model_path("qwen3"));
  folder_.write("rows.jsonl", end_to_end::some_requests(12, 16));
  const uint16_t first = free_port();
  const auto first_worker = start_worker(first);
  const uint16_t second = free_port();
  const auto second_worker = start_worker(second);

  const Ended listed = run(command({"inspect", "model.gguf", "--rpc", name_of(first)}));
  EXPECT_EQ(listed.code, 0) << listed;
  EXPECT_THAT(listed.output, HasSubstr("RPC0 (" + name_of(first) + ", RPC worker, "));

  const Ended alone =
      run(command(end_to_end::exact_run("rows.jsonl", "alone.jsonl", {"--device", "none"})));
  ASSERT_EQ(alone.code, 0) << alone;
  const Ended divided = run(command(halves("results.jsonl", first, second)));
  ASSERT_EQ(divided.code, 0) << divided;
  const auto expected = end_to_end::outcomes_of_job(folder_, "alone");
  EXPECT_EQ(expected.size(), 12U);
  EXPECT_EQ(end_to_end::difference(expected, end_to_end::outcomes_of_job(folder_)), "");
  EXPECT_THAT(first_worker->output(),
              ::testing::MatchesRegex("serving CPU \\(.*\\) at " + name_of(first) + "\n"));
}

TEST_F(Rpc, AJobWhoseWorkerDiesSaysSoAndIsResumedByTheSameCommand) {
  folder_.use_model(end_to_end::model_path("llama"));
  folder_.write("rows.jsonl", end_to_end::some_requests(30, 12));
  const uint16_t first = free_port();
  const auto first_worker = start_worker(first);
  const uint16_t second = free_port();
  auto second_worker = start_worker(second);
  const Words job = halves("results.jsonl", first, second, {"--rows-max", "2"});

  Process interrupted(command(job));
  ASSERT_TRUE(interrupted.wait_until([&] { return folder_.size_of("results.jsonl") > 0; }));
  second_worker->send(SIGKILL);
  second_worker->wait();
  const Ended ended = interrupted.wait();
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors,
              HasSubstr(fmt::format("windrow: an RPC worker ended, or cannot be reached any more "
                                    "(workers: {}, {}); see which one, start it again, and run the "
                                    "same command",
                                    name_of(first), name_of(second))));
  EXPECT_LT(end_to_end::read_torn_log(folder_, "results.jsonl").lines.size(), 30U);

  second_worker = start_worker(second);
  const Ended resumed = run(command(job));
  EXPECT_EQ(resumed.code, 0) << resumed;
  EXPECT_EQ(end_to_end::outcomes_of_job(folder_).size(), 30U) << "each row once";
}

TEST_F(Rpc, AWorkerThatIsNotThereIsAnErrorBeforeAnyRow) {
  folder_.use_model(end_to_end::model_path("llama"));
  folder_.write("rows.jsonl", end_to_end::some_requests(1));
  const std::string absent = name_of(free_port());
  const Ended ended =
      run(command(end_to_end::exact_run("rows.jsonl", "results.jsonl", {"--rpc", absent})));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("--rpc " + absent + ": no worker answers there ("));
  EXPECT_THAT(ended.errors, HasSubstr("windrow rpc-worker --listen " + absent));

  const Ended misspelt =
      run(command(end_to_end::exact_run("rows.jsonl", "results.jsonl", {"--rpc", "gpu-box"})));
  EXPECT_EQ(misspelt.code, 2) << misspelt;
  EXPECT_THAT(misspelt.errors, HasSubstr("--rpc gpu-box: gpu-box must be HOST:PORT"));
}

TEST_F(Rpc, AWorkerThatCannotListenSaysWhere) {
  const uint16_t port = free_port();
  const auto worker = start_worker(port);
  const Ended ended = run(command({"rpc-worker", "--listen", name_of(port)}));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("cannot serve at " + name_of(port)));
}

}  // namespace
}  // namespace windrow::devices
