#include "app/process/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "json/writer.h"
#include "report/progress_record.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

constexpr Duration kRedraw = std::chrono::milliseconds(200);
constexpr Duration kSentence = std::chrono::seconds(10);

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kPlain = "\x1b[0m";

bool dumb(const Environment& environment) {
  return variable(environment, "TERM") == "dumb";
}

}  // namespace

bool colour_allowed(std::string_view color, bool terminal, const Environment& environment) {
  if (color == "always") return true;
  if (color == "never") return false;
  return terminal && !dumb(environment);
}

Console::Console(const ConsoleOptions& options, const Environment& environment, const Clock& clock)
    : options_(options),
      clock_(clock),
      live_(is_terminal(options.error_fd) && !dumb(environment)),
      colour_(colour_allowed(options.color, is_terminal(options.error_fd), environment)) {}

Console::~Console() {
  end_progress();
}

void Console::print(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  clear_line();
  if (output_gone_ || write_all(options_.output_fd, text)) return;
  output_errno_ = errno;
  output_gone_ = true;
}

Result<void> Console::printed() const {
  const std::scoped_lock lock(mutex_);
  if (output_errno_ == 0 || output_errno_ == EPIPE) return {};
  return Error{ErrorKind::kIo, fmt::format("standard output was not written to its end: {}",
                                           std::generic_category().message(output_errno_))};
}

void Console::note(std::string_view text) {
  if (options_.quiet) return;
  const std::scoped_lock lock(mutex_);
  if (options_.json) {
    write_event("note", {{"message", text}});
    return;
  }
  say("", "", text);
}

void Console::warn(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (options_.json) write_event("warning", {{"message", text}});
  say(kYellow, "warning: ", text);
}

void Console::error(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (options_.json) write_event("error", {{"message", text}});
  say(kRed, "", text);
}

void Console::show(std::string_view text) {
  if (options_.quiet || options_.json) return;
  const std::scoped_lock lock(mutex_);
  clear_line();
  write_error(printable(text));
}

void Console::event(std::string_view name, const json::object& members) {
  if (!options_.json || options_.quiet) return;
  const std::scoped_lock lock(mutex_);
  write_event(name, members);
}

void Console::progress(const report::ProgressNumbers& numbers) {
  if (options_.quiet) return;
  const std::scoped_lock lock(mutex_);
  const bool redrawn = live_ && !options_.json;
  const TimePoint now = clock_.now();
  const bool first = !phase_shown_.has_value();
  const bool due = !first && now - shown_at_ >= (redrawn ? kRedraw : kSentence);
  // A live line follows a new phase at once; for a log file the ten seconds count from the first.
  const bool new_phase = phase_shown_ != numbers.phase;
  if (first && !redrawn) {
    phase_shown_ = numbers.phase;
    shown_at_ = now;
    return;
  }
  if (!due && !(redrawn && new_phase)) return;
  phase_shown_ = numbers.phase;
  shown_at_ = now;

  if (options_.json) {
    write_event("progress", report::progress_to_json(numbers));
  } else if (redrawn) {
    // The last column stays free: some terminals wrap when it is filled.
    const size_t width = terminal_width(options_.error_fd) - 1;
    const std::string line = report::fit_pieces(report::progress_pieces(numbers), width, colour_);
    if (line.empty() && !line_shown_) return;
    write_error(fmt::format("{}{}", kClearLine, line));
    line_shown_ = !line.empty();
  } else if (const std::string sentence = report::progress_sentence(numbers); !sentence.empty()) {
    say("", "", sentence);
  }
}

void Console::line(std::string_view text) {
  if (options_.quiet || options_.json || !live_) return;
  const std::scoped_lock lock(mutex_);
  // The last column stays free: some terminals wrap when it is filled.
  const std::string shown =
      printable(text).substr(0, std::max<size_t>(terminal_width(options_.error_fd), 2) - 1);
  write_error(fmt::format("{}{}", kClearLine, shown));
  line_shown_ = true;
}

void Console::end_progress() {
  const std::scoped_lock lock(mutex_);
  clear_line();
  phase_shown_.reset();
}

// All below: with the mutex held.

void Console::say(std::string_view style, std::string_view kind, std::string_view text) {
  clear_line();
  const bool styled = colour_ && !style.empty();
  write_error(fmt::format("{}windrow: {}{}{}\n", styled ? style : "", kind, styled ? kPlain : "",
                          printable(text)));
}

void Console::clear_line() {
  if (line_shown_) write_error(kClearLine);
  line_shown_ = false;
}

void Console::write_error(std::string_view text) {
  if (!error_gone_) error_gone_ = !write_all(options_.error_fd, text);
}

void Console::write_event(std::string_view name, const json::object& members) {
  json::object event{{"event", name}};
  for (const json::key_value_pair& member : members)
    event.emplace(member.key(), member.value());
  if (!output_gone_) {
    output_gone_ = !write_all(options_.output_fd, plain_json(event) + "\n");
  }
}

bool is_terminal(int fd) {
  return isatty(fd) == 1;
}

size_t terminal_width(int fd) {
  constexpr size_t kUsual = 80;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Another program that shares the terminal made it non-blocking.
      pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
      if (poll(&ready, 1, -1) < 0 && errno != EINTR) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F: terminals may take them for controls too.
    const bool high_control = byte == 0xC2 && i + 1 < text.size() &&
                              static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                              static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (control) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (high_control) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace windrow::app
