#include "engine/llama/rpc_worker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

TEST(RpcWorker, AWorkerIsNamedByItsHostAndPort) {
  EXPECT_TRUE(check_worker_name("10.0.0.2:50052"));
  EXPECT_TRUE(check_worker_name("gpu-box.local:1"));
  for (const char* name : {"", "gpu", "gpu:", ":50052", "gpu:0", "gpu:65536", "gpu:5o",
                           "[::1]:50052", "http://gpu:50052", "gpu:50052 "}) {
    const Result<void> checked = check_worker_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().message,
              fmt::format("{} must be HOST:PORT, where the host is a name or an IPv4 address, such "
                          "as 10.0.0.2:50052",
                          name));
  }
}

}  // namespace
}  // namespace windrow::engine
