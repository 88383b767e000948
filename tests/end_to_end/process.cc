#include "end_to_end/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <utility>

#include "base/ensure.h"

namespace windrow::end_to_end {
namespace {

using std::chrono::steady_clock;

// A program that takes longer hangs.
constexpr std::chrono::seconds kDeadline(120);

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends = {};
  ENSURE(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe could not be made: error {}", errno);
  return {.read_end = ends[0], .write_end = ends[1]};
}

int open_terminal() {
  const int fd = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ENSURE(fd >= 0 && ::grantpt(fd) == 0 && ::unlockpt(fd) == 0, "no terminal: error {}", errno);
  const winsize size = {.ws_row = 30, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  ENSURE(::ioctl(fd, TIOCSWINSZ, &size) == 0, "the terminal takes no size: error {}", errno);
  return fd;
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(std::exchange(fd, -1));
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Becomes a user that has no other process, since the limit is one of all processes of a user.
bool limit_threads(uint64_t threads_max) {
  constexpr uid_t kUsersFrom = 1'000'000'000;
  const uid_t user = kUsersFrom + static_cast<uid_t>(::getpid());
  const rlimit limit = {.rlim_cur = threads_max, .rlim_max = threads_max};
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  constexpr uint32_t kFiles = 1U << CAP_DAC_OVERRIDE;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> kept = {};
  kept[0] = {.effective = kFiles, .permitted = kFiles, .inheritable = kFiles};
  return ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && ::setresuid(user, user, user) == 0 &&
         ::syscall(SYS_capset, &header, kept.data()) == 0 &&
         ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0) == 0 &&
         ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

// The child between fork and exec, which makes only system calls.
struct Child {
  const Command& command;
  std::vector<char*> words;
  std::vector<char*> variables;
  std::string terminal;  // its name, or empty
  int input_fd = -1;
  int output_fd = -1;
  int errors_fd = -1;

  [[noreturn]] void become() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      ::signal(signal, SIG_DFL);
    int input = input_fd;
    int output = output_fd;
    int errors = errors_fd;
    if (!terminal.empty()) {
      ::setsid();
      input = output = errors = ::open(terminal.c_str(), O_RDWR);
    }
    bool ready = ::dup2(input, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
                 ::dup2(errors, STDERR_FILENO) >= 0 && ::chdir(command.folder.c_str()) == 0;
    if (command.file_bytes_max) {
      const rlimit limit = {.rlim_cur = *command.file_bytes_max,
                            .rlim_max = *command.file_bytes_max};
      ready = ready && ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
    }
    if (command.files_max) {
      const rlimit limit = {.rlim_cur = command.files_soft.value_or(*command.files_max),
                            .rlim_max = *command.files_max};
      ready = ready && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    }
    if (command.obeys_permissions && ::geteuid() == 0) {
      ready = ready && ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0 &&
              ::prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0) == 0;
    }
    if (command.threads_max) ready = ready && limit_threads(*command.threads_max);
    if (ready) ::execve(words.front(), words.data(), variables.data());
    ::_exit(126);
  }
};

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Ended& ended) {
  stream << "exit code " << ended.code;
  if (ended.signal != 0) stream << " by signal " << ended.signal;
  return stream << "\n--- output\n" << ended.output << "--- errors\n" << ended.errors << "---\n";
}

Process::Process(const Command& command)
    : input_(command.input),
      input_stays_open_(command.input_stays_open),
      terminal_(command.terminal) {
  // A program that ends before it read everything is no reason for the test to die.
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables;
  for (const auto& [name, value] : command.variables)
    variables.push_back(name + "=" + value);

  Child child{.command = command, .words = pointers(words), .variables = pointers(variables)};
  if (terminal_) {
    input_fd_ = output_fd_ = open_terminal();
    child.terminal = ::ptsname(output_fd_);
  } else {
    const Pipe input = make_pipe();
    const Pipe output = make_pipe();
    const Pipe errors = make_pipe();
    child.input_fd = input.read_end;
    child.output_fd = output.write_end;
    child.errors_fd = errors.write_end;
    input_fd_ = input.write_end;
    output_fd_ = output.read_end;
    errors_fd_ = errors.read_end;
  }
  id_ = ::fork();
  ENSURE(id_ >= 0, "no process could be started: error {}", errno);
  if (id_ == 0) child.become();
  for (int* fd : {&child.input_fd, &child.output_fd, &child.errors_fd})
    close_fd(*fd);
  for (const int fd : {input_fd_, output_fd_, errors_fd_}) {
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
}

Process::~Process() {
  if (id_ > 0) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  if (!terminal_) close_fd(input_fd_);
  close_fd(output_fd_);
  close_fd(errors_fd_);
}

void Process::send(int signal) const {
  ENSURE(id_ > 0, "the process has ended already");
  ::kill(id_, signal);
}

uint64_t Process::memory_peak_bytes() const {
  std::ifstream status("/proc/" + std::to_string(id_) + "/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib << 10U;
  }
  return 0;
}

void Process::close_outputs() {
  close_fd(output_fd_);
  close_fd(errors_fd_);
}

void Process::read_from(int& fd, std::string& text) const {
  std::array<char, 16384> buffer = {};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    close_fd(fd);
  }
}

void Process::write_input() {
  const ssize_t put = ::write(input_fd_, input_.data(), input_.size());
  if (put >= 0) {
    input_.erase(0, static_cast<size_t>(put));
  } else if (errno != EAGAIN && errno != EINTR) {
    input_.clear();
    input_stays_open_ = false;
  }
}

bool Process::pump(int64_t wait_us) {
  if (terminal_) {
    input_fd_ = output_fd_;
  } else if (input_.empty() && !input_stays_open_) {
    close_fd(input_fd_);
  }
  std::array<pollfd, 3> polled = {
      pollfd{.fd = output_fd_, .events = POLLIN, .revents = 0},
      pollfd{.fd = errors_fd_, .events = POLLIN, .revents = 0},
      pollfd{.fd = input_.empty() ? -1 : input_fd_, .events = POLLOUT, .revents = 0}};
  if (output_fd_ < 0 && errors_fd_ < 0) return false;
  const timespec wait = {.tv_sec = wait_us / 1'000'000, .tv_nsec = wait_us % 1'000'000 * 1'000};
  if (::ppoll(polled.data(), polled.size(), &wait, nullptr) <= 0) return true;
  if (polled[2].revents != 0) write_input();
  if (polled[0].revents != 0) read_from(output_fd_, ended_.output);
  if (polled[1].revents != 0) read_from(errors_fd_, ended_.errors);
  return true;
}

bool Process::wait_telling(const std::function<bool()>& condition,
                           const std::function<std::string()>& last_seen) {
  const auto deadline = steady_clock::now() + kDeadline;
  while (!condition()) {
    if (!pump(200)) return condition();
    if (steady_clock::now() > deadline) {
      ADD_FAILURE() << "what was waited for did not come\n"
                    << (last_seen ? "last seen: " + last_seen() + "\n" : "") << ended_;
      send(SIGKILL);
      return false;
    }
  }
  return true;
}

bool Process::wait_for_errors(std::string_view text) {
  return wait_until([&] { return errors().find(text) != std::string::npos; });
}

Ended Process::wait() {
  const auto deadline = steady_clock::now() + kDeadline;
  while (pump(100'000)) {
    if (steady_clock::now() < deadline) continue;
    ADD_FAILURE() << "the program does not end\n" << ended_;
    ::kill(id_, SIGKILL);
    break;
  }
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  if (WIFEXITED(status)) ended_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended_.signal = WTERMSIG(status);
  return std::move(ended_);
}

Ended run(const Command& command) {
  return Process(command).wait();
}

}  // namespace windrow::end_to_end
