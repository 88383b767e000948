// EpollSet: sockets that are not Asio's (libcurl's), waited for on a Loop. They lie
// in an epoll of their own, and Asio waits for that one: however many sockets are ready, they cost
// the loop one waking and one system call. On the loop's thread only.
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
  // Takes what is ready; called until the set is destroyed, also once in the middle of it.
  using OnReady = std::function<void(std::span<const epoll_event>)>;

  EpollSet(Loop& loop, OnReady on_ready);
  ~EpollSet();
  EpollSet(const EpollSet&) = delete;
  EpollSet& operator=(const EpollSet&) = delete;

  // `events`: EPOLLIN, EPOLLOUT; then the socket must be open. 0: nobody waits for it any more; it
  // may be closed by then, and its number another's: libcurl closes a socket that was connecting
  // before it says so. epoll_event::data.fd says which it is.
  void watch(int socket, uint32_t events);

 private:
  void wait();
  size_t drop_unwanted(std::span<epoll_event> events);

  OnReady on_ready_;
  std::unordered_set<int> unwanted_;  // those with 0; the epoll may have them still
  boost::asio::posix::stream_descriptor epoll_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace windrow::http
