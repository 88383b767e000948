#include "engine/llama/wait_policy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace windrow::engine {
namespace {

std::optional<WaitSetting> missing_in(const std::map<std::string, const char*>& environment) {
  return missing_wait_setting([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  });
}

TEST(WaitPolicyTest, IsSetOnlyWhereNobodySaidIt) {
  const std::optional<WaitSetting> setting = missing_in({{"HOME", "/root"}});
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->name, "GOMP_SPINCOUNT");
  EXPECT_EQ(missing_in({{"OMP_WAIT_POLICY", "active"}}), std::nullopt);
  EXPECT_EQ(missing_in({{"GOMP_SPINCOUNT", "infinity"}}), std::nullopt);
  EXPECT_EQ(missing_in({{setting->name, setting->value.c_str()}}), std::nullopt)
      << "else it would start itself for ever";
}

}  // namespace
}  // namespace windrow::engine
