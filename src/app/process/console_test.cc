#include "app/process/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/testing/manual_clock.h"

namespace windrow::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kClear = "\r\x1b[K";

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  // A terminal whose other end is closed says EIO, a pipe 0.
  for (ssize_t size = read(fd, buffer, sizeof(buffer)); size > 0;
       size = read(fd, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

// Both ends of a pipe or of a terminal; what was written can be read once the writer is done.
class Channel {
 public:
  static Channel pipe() {
    Channel channel;
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    channel.reader_ = ends[0];
    channel.writer_ = ends[1];
    return channel;
  }

  static Channel terminal(unsigned short columns) {
    Channel channel;
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&channel.reader_, &channel.writer_, nullptr, nullptr, &size), 0);
    termios modes{};
    tcgetattr(channel.writer_, &modes);
    cfmakeraw(&modes);
    tcsetattr(channel.writer_, TCSANOW, &modes);
    return channel;
  }

  Channel(Channel&& other) noexcept
      : reader_(std::exchange(other.reader_, -1)), writer_(std::exchange(other.writer_, -1)) {}
  Channel& operator=(Channel&&) = delete;
  ~Channel() {
    if (reader_ >= 0) close(reader_);
    if (writer_ >= 0) close(writer_);
  }

  int writer() const { return writer_; }

  void close_reader() { close(std::exchange(reader_, -1)); }

  std::string take() {
    close(std::exchange(writer_, -1));
    return read_all(reader_);
  }

 private:
  Channel() = default;

  int reader_ = -1;
  int writer_ = -1;
};

report::ProgressNumbers numbers(int64_t rows, int64_t failed = 0) {
  return {.phase = batch::JobPhase::kRunning,
          .rows_done = rows,
          .rows_total = 100,
          .rows_failed = failed,
          .rows_running = 4,
          .rows_per_s = 2};
}

class ConsoleTest : public ::testing::Test {
 protected:
  void open(Channel output, Channel errors, ConsoleOptions options = {},
            const Environment& environment = {{"TERM", "xterm"}}) {
    output_.emplace(std::move(output));
    errors_.emplace(std::move(errors));
    options.output_fd = output_->writer();
    options.error_fd = errors_->writer();
    console_ = std::make_unique<Console>(options, environment, clock_);
  }

  // Ends the console; what it wrote.
  std::string said() {
    console_.reset();
    return errors_->take();
  }
  std::string printed() {
    console_.reset();
    return output_->take();
  }

  windrow::testing::ManualClock clock_;
  std::optional<Channel> output_;
  std::optional<Channel> errors_;
  std::unique_ptr<Console> console_;
};

TEST_F(ConsoleTest, APipeGetsPlainLines) {
  open(Channel::pipe(), Channel::pipe());
  console_->note("a note");
  console_->warn("careful");
  console_->error("broken");
  console_->show("a table\n");
  console_->print("asked for\n");
  EXPECT_EQ(said(), "windrow: a note\nwindrow: warning: careful\nwindrow: broken\na table\n");
  EXPECT_EQ(printed(), "asked for\n");
}

TEST_F(ConsoleTest, APipeGetsASentenceEveryTenSeconds) {
  open(Channel::pipe(), Channel::pipe());
  EXPECT_FALSE(console_->live());
  for (int64_t i = 0; i <= 25 * 5; ++i) {
    console_->progress(numbers(i));
    clock_.advance(milliseconds(200));
  }
  EXPECT_EQ(said(),
            "windrow: 50 of 100 rows done (50.0 %), 0 failed; 2.00 rows/s, 0 prompt and 0 "
            "output tokens/s, 4 rows in batch; time left ?\n"
            "windrow: 100 of 100 rows done (100.0 %), 0 failed; 2.00 rows/s, 0 prompt and 0 "
            "output tokens/s, 4 rows in batch; time left ?\n");
}

TEST_F(ConsoleTest, ATerminalHasOneLiveLineThatGivesWay) {
  open(Channel::pipe(), Channel::terminal(60), {.color = "never"});
  EXPECT_TRUE(console_->live());
  console_->progress(numbers(1));
  console_->note("a note");
  EXPECT_EQ(said(), std::string(kClear) + "1/100  1.0 %  2.00 rows/s  0 output tok/s  ETA ?" +
                        kClear + "windrow: a note\n");
}

TEST_F(ConsoleTest, TheLiveLineIsRedrawnFiveTimesASecondAtMost) {
  open(Channel::pipe(), Channel::terminal(20), {.color = "never"});
  for (int64_t i = 0; i < 10; ++i) {
    console_->progress(numbers(i));
    clock_.advance(milliseconds(100));
  }
  const std::string clear = kClear;
  EXPECT_EQ(said(), clear + "0/100  ETA ?" + clear + "2/100  ETA ?" + clear + "4/100  ETA ?" +
                        clear + "6/100  ETA ?" + clear + "8/100  ETA ?" + clear);
}

TEST_F(ConsoleTest, ANewPhaseShowsAtOnce) {
  open(Channel::pipe(), Channel::terminal(80), {.color = "never"});
  console_->progress({.phase = batch::JobPhase::kWaiting});
  console_->progress({.phase = batch::JobPhase::kChecking});
  EXPECT_EQ(said(),
            std::string(kClear) + "loading the model" + kClear + "checking the input" + kClear);
}

TEST_F(ConsoleTest, TheLiveLineNeverFillsTheTerminal) {
  for (const unsigned short columns : std::initializer_list<unsigned short>{5, 20, 60, 100}) {
    open(Channel::pipe(), Channel::terminal(columns), {.color = "never"});
    console_->progress(numbers(12, 3));
    std::string text = said();
    ASSERT_GT(text.size(), 8U);
    EXPECT_LT(text.size() - 8, columns) << text;  // two kClear
  }
}

TEST_F(ConsoleTest, ADumbTerminalIsTreatedLikeAPipe) {
  open(Channel::pipe(), Channel::terminal(80), {}, {{"TERM", "dumb"}});
  EXPECT_FALSE(console_->live());
  console_->warn("careful");
  EXPECT_EQ(said(), "windrow: warning: careful\n");
}

TEST_F(ConsoleTest, ColoursAreForTerminalsUnlessSaidOtherwise) {
  open(Channel::pipe(), Channel::terminal(80));
  console_->error("broken");
  EXPECT_EQ(said(), "\x1b[31mwindrow: \x1b[0mbroken\n");
  open(Channel::pipe(), Channel::terminal(80), {.color = "never"});
  console_->error("broken");
  EXPECT_EQ(said(), "windrow: broken\n");
  open(Channel::pipe(), Channel::pipe(), {.color = "always"});
  console_->warn("careful");
  EXPECT_EQ(said(), "\x1b[33mwindrow: warning: \x1b[0mcareful\n");
}

TEST_F(ConsoleTest, QuietLeavesWarningsAndErrors) {
  open(Channel::pipe(), Channel::pipe(), {.quiet = true, .json = true});
  console_->note("a note");
  console_->event("start", {});
  console_->show("a table\n");
  clock_.advance(seconds(60));
  console_->progress(numbers(1));
  clock_.advance(seconds(60));
  console_->progress(numbers(1));
  console_->error("broken");
  EXPECT_EQ(said(), "windrow: broken\n");
  EXPECT_EQ(printed(), "{\"event\": \"error\", \"message\": \"broken\"}\n");
}

TEST_F(ConsoleTest, JsonGivesEventsAndNothingElseOnStandardOutput) {
  open(Channel::pipe(), Channel::terminal(80), {.json = true, .color = "never"});
  console_->event("start", {{"input", "in.jsonl"}});
  console_->note("a note");
  console_->warn("careful");
  console_->show("a table\n");
  console_->progress(numbers(1));
  clock_.advance(seconds(10));
  console_->progress(numbers(30, 2));
  EXPECT_EQ(said(), "windrow: warning: careful\n");
  EXPECT_EQ(printed(),
            "{\"event\": \"start\", \"input\": \"in.jsonl\"}\n"
            "{\"event\": \"note\", \"message\": \"a note\"}\n"
            "{\"event\": \"warning\", \"message\": \"careful\"}\n"
            "{\"event\": \"progress\", \"phase\": \"running\", \"rows_done\": 30, "
            "\"rows_total\": 100, \"rows_failed\": 2, \"failures\": [], "
            "\"retrying\": {\"rows\": 0, \"attempt\": 0, \"attempts_max\": 0}, "
            "\"rows_in_batch\": 4, \"rows_per_s\": 2.0, \"texts_per_s\": 0.0, "
            "\"prompt_tokens_per_s\": 0.0, \"prompt_reused\": 0.0, "
            "\"generated_tokens_per_s\": 0.0, \"prompts_only\": false, "
            "\"texts_only\": false, \"one_text_a_row\": false, "
            "\"device_bytes_used\": 0, \"device_bytes_max\": 0, \"elapsed_s\": 0.0, "
            "\"left_s\": null, "
            "\"upstreams\": []}\n");
}

TEST_F(ConsoleTest, AReaderThatLeftIsNoReasonToStop) {
  std::signal(SIGPIPE, SIG_IGN);
  open(Channel::pipe(), Channel::pipe(), {.json = true});
  output_->close_reader();
  errors_->close_reader();
  console_->event("start", {});
  console_->error("broken");
  console_->error("broken");
  std::signal(SIGPIPE, SIG_DFL);
}

TEST_F(ConsoleTest, NamesCannotMoveTheCursor) {
  open(Channel::pipe(), Channel::pipe());
  console_->error("custom_id \"\x1b[2J\x07\" and \xC2\x9B");
  EXPECT_EQ(said(), "windrow: custom_id \"\\x1b[2J\\x07\" and \\x9b\n");
}

TEST(ColourAllowed, FollowsFlagThenTerminal) {
  EXPECT_TRUE(colour_allowed("always", false, {}));
  EXPECT_FALSE(colour_allowed("never", true, {}));
  EXPECT_TRUE(colour_allowed("auto", true, {}));
  EXPECT_FALSE(colour_allowed("auto", false, {}));
  EXPECT_FALSE(colour_allowed("auto", true, {{"TERM", "dumb"}}));
}

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
