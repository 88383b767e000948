// A program run as a child process: its arguments, its environment, its input and output, and how
// it ends. Waiting is for events, with a deadline that only a program that hangs reaches.
#pragma once

#include <gmock/gmock.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::end_to_end {

struct Command {
  std::vector<std::string> words;                // the program comes first
  std::string folder;                            // to work in
  std::map<std::string, std::string> variables;  // the whole environment
  std::string input;                             // what standard input holds
  bool input_stays_open = false;                 // it does not end before close_input()

  // Standard input, output and error are a terminal of 100 columns; `input` is what is typed.
  bool terminal = false;

  // RLIMIT_FSIZE: no file may grow above this.
  std::optional<uint64_t> file_bytes_max;

  // RLIMIT_NOFILE: no more files may be open; and its soft limit, where that is another.
  std::optional<uint64_t> files_max;
  std::optional<uint64_t> files_soft;

  // RLIMIT_NPROC, the maximum of threads. Only if the test runs as root: the program then runs as
  // another user, because the limit does not apply to root, but keeps access to all files.
  std::optional<uint64_t> threads_max;

  // File permissions count, even when the test is run by root.
  bool obeys_permissions = false;
};

struct Ended {
  int code = -1;       // of exit; -1 when a signal ended it
  int signal = 0;      // that signal
  std::string output;  // of a terminal, errors too
  std::string errors;
};

// Prints all of `ended`, for the messages of failed tests.
std::ostream& operator<<(std::ostream& stream, const Ended& ended);

class Process {
 public:
  explicit Process(const Command& command);

  // Kills what still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }

  // The most of its memory that was resident so far; while it runs.
  uint64_t memory_peak_bytes() const;

  void send(int signal) const;

  void write(std::string_view text) { input_ += text; }
  void close_input() { input_stays_open_ = false; }

  // Closes the pipes, so that nothing reads the program's output any more.
  void close_outputs();

  // True as soon as `condition` is; it is called every fifth of a millisecond, and whenever the
  // program prints something. False when the program ended first, or the deadline has passed: then
  // the test has failed and the program is killed.
  bool wait_until(const std::function<bool()>& condition) { return wait_telling(condition, {}); }

  // The same until the matcher `wanted` accepts the result of `look()`. If it never does, the
  // message has the last result.
  template <class Look, class Wanted>
  bool wait_until(const Look& look, const Wanted& wanted) {
    std::string last;
    return wait_telling(
        [&] {
          const auto seen = look();
          last = ::testing::PrintToString(seen);
          return ::testing::Value(seen, wanted);
        },
        [&] { return last; });
  }
  bool wait_for_errors(std::string_view text);

  // So far.
  const std::string& output() const { return ended_.output; }
  const std::string& errors() const { return ended_.errors; }

  // Waits for the end; once.
  Ended wait();

 private:
  bool wait_telling(const std::function<bool()>& condition,
                    const std::function<std::string()>& last_seen);

  // Moves bytes both ways for at most that long. False when there is nothing left to move.
  bool pump(int64_t wait_us);
  void read_from(int& fd, std::string& text) const;
  void write_input();

  pid_t id_ = -1;
  int input_fd_ = -1;
  int output_fd_ = -1;
  int errors_fd_ = -1;
  std::string input_;
  bool input_stays_open_ = false;
  bool terminal_ = false;
  Ended ended_;
};

// Runs it to its end.
Ended run(const Command& command);

}  // namespace windrow::end_to_end
