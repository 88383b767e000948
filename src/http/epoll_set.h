// EpollSet: sockets that are not Asio's (libcurl's, LeanClient's), waited for on a Loop. They lie
// in an epoll of their own, and Asio waits for that one: however many sockets are ready, they cost
// the loop one waking and one system call. On the loop's thread only.
#pragma once

#include <sys/epoll.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

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

  // `events`: EPOLLIN, EPOLLOUT; 0 takes the socket out. epoll_event::data.fd says which it is.
  void watch(int socket, uint32_t events);

 private:
  void wait();

  OnReady on_ready_;
  boost::asio::posix::stream_descriptor epoll_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace windrow::http
