#include "http/epoll_set.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace windrow::http {

EpollSet::EpollSet(Loop& loop, OnReady on_ready)
    : on_ready_(std::move(on_ready)), epoll_(loop.context()) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  epoll_.assign(epoll);
  wait();
}

EpollSet::~EpollSet() = default;

void EpollSet::watch(int socket, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = socket}};
  const int epoll = epoll_.native_handle();
  if (events == 0) {
    // Fails when the socket was closed before, which has taken it out.
    epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
    return;
  }
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0) return;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0) return;
  throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void EpollSet::wait() {
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                      if (error || alive.expired()) return;
                      std::array<epoll_event, 256> events;
                      const int ready = epoll_wait(epoll_.native_handle(), events.data(),
                                                   static_cast<int>(events.size()), 0);
                      if (ready > 0) on_ready_(std::span(events).first(static_cast<size_t>(ready)));
                      if (!alive.expired()) wait();
                    });
}

}  // namespace windrow::http
