#include "upstream/device_memory.h"

#include <gtest/gtest.h>

namespace windrow::upstream {
namespace {

TEST(DeviceMemory, IsThatOfAllLoadedModels) {
  EXPECT_EQ(device_bytes_of(R"({"models":[{"name":"a","size":9,"size_vram":5000000000},)"
                            R"({"name":"b","size_vram":7}]})"),
            5'000'000'007U);
}

TEST(DeviceMemory, WhatTellsNothingIsNone) {
  for (const char* body : {"", "404 page not found", "[]", R"({"models":{}})", R"({"models":[]})",
                           R"({"models":[1,{"size_vram":"much"},{"size_vram":-1}]})"})
    EXPECT_EQ(device_bytes_of(body), 0U) << body;
}

}  // namespace
}  // namespace windrow::upstream
