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

}  // namespace
}  // namespace windrow::engine
