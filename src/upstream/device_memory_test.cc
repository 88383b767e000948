#include "upstream/device_memory.h"

#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

TEST(DeviceMemory, IsThatOfAllLoadedModels) {
  EXPECT_EQ(memory_in_models(R"({"models":[{"name":"a","size":9,"size_vram":5000000000},)"
                             R"({"name":"b","size_vram":7}]})"),
            (MemoryReading{.device_bytes = 5'000'000'007U}));
}

TEST(DeviceMemory, WhatTellsNothingIsNone) {
  for (const char* body : {"", "404 page not found", "[]", R"({"models":{}})", R"({"models":[]})",
                           R"({"models":[1,{"size_vram":"much"},{"size_vram":-1}]})"})
    EXPECT_FALSE(memory_in_models(body).tells()) << body;
}

TEST(DeviceMemory, EachServerHasItsOwnNameForTheSame) {
  const MemoryReading half{.cache_used = 0.5};
  EXPECT_EQ(memory_in_metrics("# TYPE vllm:kv_cache_usage_perc gauge\n"
                              "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n"),
            half);
  EXPECT_EQ(memory_in_metrics("vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n"
                              "vllm:cpu_cache_usage_perc{model_name=\"m\"} 0.9\n"),
            half);
  EXPECT_EQ(memory_in_metrics("sglang:token_usage{model_name=\"m\"} 0.5\n"
                              "sglang:cache_hit_rate{model_name=\"m\"} 0.9\n"),
            half);
  EXPECT_EQ(memory_in_metrics("llamacpp:kv_cache_usage_ratio 0.5\nllamacpp:kv_cache_tokens 99\n"),
            half);
  EXPECT_EQ(memory_in_metrics("nv_gpu_memory_used_bytes{gpu_uuid=\"a\"} 1000000000.000000\n"
                              "nv_gpu_memory_used_bytes{gpu_uuid=\"b\"} 1.5e9\n"
                              "nv_gpu_memory_total_bytes{gpu_uuid=\"a\"} 9e9\n"),
            (MemoryReading{.device_bytes = 2'500'000'000U}));
}

TEST(DeviceMemory, TheFullestEngineCounts) {
  EXPECT_EQ(memory_in_metrics("vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
                              "vllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n"
                              "vllm:kv_cache_usage_perc{engine=\"2\"} 0.5\n"),
            (MemoryReading{.cache_used = 0.75}));
}

TEST(DeviceMemory, AnEmptyCacheIsToldToo) {
  EXPECT_EQ(memory_in_metrics("vllm:kv_cache_usage_perc 0.0\n"), (MemoryReading{.cache_used = 0}));
}

TEST(DeviceMemory, NumbersThatCannotBeAreNone) {
  for (const char* page :
       {"", "<html>404</html>", "vllm:kv_cache_usage_perc NaN\n", "sglang:token_usage -0.1\n",
        "vllm:kv_cache_usage_perc -Inf\n", "nv_gpu_memory_used_bytes +Inf\n",
        "nv_gpu_memory_used_bytes 1e300\n", "nv_gpu_memory_used_bytes -5\n",
        "xvllm:kv_cache_usage_perc 0.5\n", "vllm:kv_cache_usage_perc_max 0.5\n"})
    EXPECT_FALSE(memory_in_metrics(page).tells()) << page;
  EXPECT_EQ(memory_in_metrics("sglang:token_usage 1.02\n"), (MemoryReading{.cache_used = 1}));
}

}  // namespace
}  // namespace windrow::upstream
