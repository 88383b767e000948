#include "engine/host/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

namespace windrow::engine {
namespace {

class CpuCount : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "cpu_count_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
  }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  static int allowed() {
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    return CPU_COUNT(&set);
  }

  std::string root_;
};

TEST_F(CpuCount, WithoutAnyFileEveryAllowedCpuIsACore) {
  EXPECT_EQ(usable_cores(root_), allowed());
}

TEST_F(CpuCount, ThreadsOfOneCoreCountOnce) {
  for (int cpu = 0; cpu < 1024; ++cpu) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          "0-1023\n");
  }
  EXPECT_EQ(usable_cores(root_), 1);
}

TEST_F(CpuCount, TheQuotaOfTheControlGroupCaps) {
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cores(root_), 1);
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(usable_cores(root_), allowed());
}

}  // namespace
}  // namespace windrow::engine
