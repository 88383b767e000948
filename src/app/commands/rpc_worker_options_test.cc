#include "app/commands/rpc_worker_options.h"

#include <gtest/gtest.h>

namespace windrow::app {
namespace {

std::string refusal(const RpcWorkerCommand& command) {
  const Result<void> checked = check_rpc_worker(command);
  return checked ? "accepted" : checked.error().message;
}

TEST(RpcWorkerOptions, ItListensToThisMachineAlone) {
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({.listen = "127.0.0.3:7000"}), "accepted");
  EXPECT_EQ(rpc_address({.listen = "localhost:7000"})->host, "127.0.0.1");
  EXPECT_EQ(rpc_address({.listen = "7000"})->port, 7000);
}

TEST(RpcWorkerOptions, OtherMachinesMustBeWantedBecauseNothingProtectsTheWorker) {
  for (const char* listen : {"0.0.0.0:50052", "10.0.0.2:50052"}) {
    EXPECT_TRUE(refusal({.listen = listen})
                    .starts_with(std::string("--listen ") + listen + ": other machines can reach"));
    EXPECT_EQ(refusal({.listen = listen, .insecure_network = true}), "accepted");
  }
}

TEST(RpcWorkerOptions, LibggmlTakesIpv4AddressesAlone) {
  for (const char* listen : {"[::1]:50052", "127.0.0.1:0", "gpu-box:50052"}) {
    EXPECT_EQ(refusal({.listen = listen, .insecure_network = true}),
              std::string("--listen ") + listen +
                  " must be an IPv4 address of this machine and a port from 1 up, such as "
                  "127.0.0.1:50052");
  }
}

}  // namespace
}  // namespace windrow::app
