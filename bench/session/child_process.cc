#include "session/child_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <stdexcept>

namespace windrow::session_bench {

Channel::~Channel() {
  close(in_);
  close(out_);
}

void Channel::send(const std::string& message) {
  const uint64_t size = message.size();
  std::string framed(reinterpret_cast<const char*>(&size), sizeof(size));
  framed += message;
  for (size_t sent = 0; sent < framed.size();) {
    const ssize_t count = write(out_, framed.data() + sent, framed.size() - sent);
    if (count <= 0) throw std::runtime_error("a process of the measurement has ended");
    sent += static_cast<size_t>(count);
  }
}

bool Channel::read_all(char* to, size_t bytes) const {
  while (bytes > 0) {
    const ssize_t count = read(in_, to, bytes);
    if (count <= 0) return false;
    to += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

bool Channel::receive(std::string& message) {
  uint64_t size = 0;
  if (!read_all(reinterpret_cast<char*>(&size), sizeof(size))) return false;
  message.resize(size);
  return read_all(message.data(), size);
}

ChildProcess::ChildProcess(const std::function<void(Channel&)>& body) {
  int to_child[2];
  int to_parent[2];
  if (pipe(to_child) != 0 || pipe(to_parent) != 0) throw std::runtime_error("no pipe");
  child_ = fork();
  if (child_ < 0) throw std::runtime_error("no process for a part of the measurement");
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(to_child[1]);
    close(to_parent[0]);
    try {
      Channel channel(to_child[0], to_parent[1]);
      body(channel);
      _exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      _exit(1);
    }
  }
  close(to_child[0]);
  close(to_parent[1]);
  channel_ = std::make_unique<Channel>(to_parent[0], to_child[1]);
}

ChildProcess::~ChildProcess() {
  kill(child_, SIGTERM);
  channel_.reset();
  waitpid(child_, nullptr, 0);
}

std::string ChildProcess::receive() {
  std::string message;
  if (!channel_->receive(message)) throw std::runtime_error("a process of the measurement failed");
  return message;
}

}  // namespace windrow::session_bench
