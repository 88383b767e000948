// ChildProcess: a part of a measurement that runs in a process of its own, so that its processor
// time and memory are not counted as those of the program that is measured.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace windrow::session_bench {

// One end of a pair of pipes. Messages are texts of any bytes. Used by one thread at a time.
class Channel {
 public:
  Channel(int in, int out) : in_(in), out_(out) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(const std::string& message);

  // False: the other side has ended.
  bool receive(std::string& message);

 private:
  bool read_all(char* to, size_t bytes) const;

  int in_;
  int out_;
};

class ChildProcess {
 public:
  // Runs `body` in a child, which ends when it returns. Made before this process has any thread.
  // Throws std::runtime_error where there can be no child.
  explicit ChildProcess(const std::function<void(Channel&)>& body);

  // Ends the child.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void send(const std::string& message) { channel_->send(message); }

  // Throws std::runtime_error if the child has ended.
  std::string receive();

 private:
  pid_t child_ = 0;
  std::unique_ptr<Channel> channel_;
};

}  // namespace windrow::session_bench
