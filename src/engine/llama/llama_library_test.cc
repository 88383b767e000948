#include "engine/llama/llama_library.h"

#include <gtest/gtest.h>

namespace windrow::engine {
namespace {

TEST(LogInOneLine, LinesAreJoinedReadably) {
  EXPECT_EQ(in_one_line("load: cannot open the file\nload: cannot load the model\n"),
            "load: cannot open the file; load: cannot load the model");
  EXPECT_EQ(in_one_line("one\r\n\n  two;\n three "), "one; two; three");
}

TEST(LogInOneLine, NothingStaysNothing) {
  EXPECT_EQ(in_one_line(""), "");
  EXPECT_EQ(in_one_line("\n \n"), "");
}

TEST(ModelTexts, ASizeThatLibllamaHasNoNameForIsCounted) {
  EXPECT_EQ(described_model("qwen3 ?B all F32 (guessed)", 596'049'920), "qwen3 596M all F32");
  EXPECT_EQ(described_model("llama ?B Q8_0", 1'720'000'000), "llama 1.7B Q8_0");
  EXPECT_EQ(described_model("llama ?B F16", 12'300), "llama 12K F16");
  EXPECT_EQ(described_model("llama 8B Q4_K - Medium", 8'030'000'000), "llama 8B Q4_K - Medium");
}

TEST(ModelTexts, AFileThatIsCutOffIsNamedSo) {
  EXPECT_EQ(load_failure("tensor 'x' data is not within the file bounds, model is corrupted"),
            "the file is cut off, so get it again (tensor 'x' data is not within the file bounds, "
            "model is corrupted)");
  EXPECT_EQ(load_failure("unknown architecture"), "unknown architecture");
}

}  // namespace
}  // namespace windrow::engine
