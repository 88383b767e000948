// EpollSet: waits on a Loop for sockets that are not Asio's (libcurl's). They are in an epoll of
// their own, and Asio waits for that one: however many sockets are ready, they cost the loop one
// wake-up and one system call. On the loop's thread only.
#pragma once

#include <sys/epoll.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>

#include "http/loop.h"

namespace windrow::http {

class EpollSet {
 public:
  // Takes the ready sockets. Called until the set is destroyed; it may destroy the set.
  using OnReady = std::function<void(std::span<const epoll_event>)>;

  EpollSet(Loop& loop, OnReady on_ready);
  ~EpollSet();
  EpollSet(const EpollSet&) = delete;
  EpollSet& operator=(const EpollSet&) = delete;

  // Waits for `events`: EPOLLIN, EPOLLOUT; the socket must be open. 0: stops waiting; the socket
  // may be closed by then, and its number another's: libcurl closes a socket that was connecting
  // before it says so. epoll_event::data.fd is the socket.
  void watch(int socket, uint32_t events);

 private:
  void wait();
  size_t drop_unwanted(std::span<epoll_event> events);

  OnReady on_ready_;
  std::unordered_set<int> unwanted_;  // stopped, but maybe still in the epoll
  boost::asio::posix::stream_descriptor epoll_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace windrow::http
