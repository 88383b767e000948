#include "app/process/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace windrow::app {
namespace {

TEST(Terminal, PrintableKeepsTextAndDisarmsControls) {
  EXPECT_EQ(printable("caf\u00e9 \u65e5\u672c\n\tend"), "caf\u00e9 \u65e5\u672c\n\tend");
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable(std::string_view("\0\r\x7f", 3)), "\\x00\\x0d\\x7f");
  EXPECT_EQ(printable("\u0085\u009b"), "\\x85\\x9b");
  EXPECT_EQ(printable("\u00a0\xC2"), "\u00a0\xC2");
}

TEST(Terminal, APipeIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(is_terminal(ends[1]));
  EXPECT_EQ(terminal_width(ends[1]), 80U);
  close(ends[0]);
  close(ends[1]);
}

TEST(Terminal, WriteAllWaitsForASlowReader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  size_t received = 0;
  std::thread reader([&] {
    char buffer[1000];
    for (ssize_t size = read(ends[0], buffer, sizeof(buffer)); size > 0;
         size = read(ends[0], buffer, sizeof(buffer))) {
      received += static_cast<size_t>(size);
    }
  });
  EXPECT_TRUE(write_all(ends[1], std::string(1'000'000, 'x')));
  close(ends[1]);
  reader.join();
  EXPECT_EQ(received, 1'000'000U);
  close(ends[0]);
}

}  // namespace
}  // namespace windrow::app
