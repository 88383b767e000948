// Console: everything a command prints while it runs.
//
//   standard error   notes, warnings, errors, progress, the table at the end
//   standard output  the output of the command; with --json, events as JSON lines and nothing else
//
// On a terminal progress is one live line: drawn at most five times a second, cut to the width,
// cleared before anything else is printed. Otherwise it is a sentence every ten seconds.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "app/settings/environment.h"
#include "base/clock.h"
#include "base/result.h"
#include "report/progress.h"

namespace windrow::app {

struct ConsoleOptions {
  int output_fd = 1;
  int error_fd = 2;
  bool quiet = false;          // only warnings and errors
  bool json = false;           // events instead of notes and progress
  std::string color = "auto";  // auto, always, never
};

// Thread-safe. Text is dropped once its reader is gone.
class Console {
 public:
  Console(const ConsoleOptions& options, const Environment& environment, const Clock& clock);

  // Ends the live line.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // The output of the command, unchanged, to standard output.
  void print(std::string_view text);

  // kIo: standard output did not take all of what print() got, as its disk is full. A reader that
  // left is no failure: it wants no more.
  Result<void> printed() const;

  // "windrow: TEXT". --quiet hides notes.
  void note(std::string_view text);
  void warn(std::string_view text);
  void error(std::string_view text);

  // Lines for people, such as the table at the end. --quiet and --json hide them.
  void show(std::string_view text);

  // {"event": NAME, ...} on standard output, with --json only.
  void event(std::string_view name, const boost::json::object& members);

  // May be called as often as one likes; shows progress when it is due.
  void progress(const report::ProgressNumbers& numbers);

  // A live line of another kind, such as of a download. --quiet hides it.
  void line(std::string_view text);

  // Clears the live line until progress() or line() is called again.
  void end_progress();

  bool live() const { return live_; }

 private:
  void say(std::string_view style, std::string_view kind, std::string_view text);
  void clear_line();
  void write_error(std::string_view text);
  void write_event(std::string_view name, const boost::json::object& members);

  const ConsoleOptions options_;
  const Clock& clock_;
  const bool live_;  // standard error is a terminal that can redraw a line
  const bool colour_;

  mutable std::mutex mutex_;
  bool line_shown_ = false;
  std::optional<batch::JobPhase> phase_shown_;
  TimePoint shown_at_;
  bool output_gone_ = false;
  int output_errno_ = 0;  // why print() failed
  bool error_gone_ = false;
};

// Whether colours may be used, by the rules of --color.
bool colour_allowed(std::string_view color, bool terminal, const Environment& environment);

// --- terminals and pipes ---

bool is_terminal(int fd);

// Columns; 80 when they are unknown.
size_t terminal_width(int fd);

// Writes all of `text`; blocks. False when the reader is gone or the disk is full.
bool write_all(int fd, std::string_view text);

// Replaces control characters other than line ends and tabs by "\x1b" and the like, so that `text`
// cannot move a cursor or change colours: names and ids come from outside.
std::string printable(std::string_view text);

}  // namespace windrow::app
