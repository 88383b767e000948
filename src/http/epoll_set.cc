#include "http/epoll_set.h"

#include <algorithm>
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
  if (events == 0) {
    // The number may belong to another file by now, so the epoll is left alone. A closed socket is
    // out of it already; an open one is taken out with its next event.
    unwanted_.insert(socket);
    return;
  }
  unwanted_.erase(socket);
  epoll_event event{.events = events, .data = {.fd = socket}};
  const int epoll = epoll_.native_handle();
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0) return;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0) return;
  throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

// Moves events of wanted sockets to the front and returns how many there are; takes the others out
// of the epoll. An event comes from an open socket, so here the number is still its own.
size_t EpollSet::drop_unwanted(std::span<epoll_event> events) {
  if (unwanted_.empty()) return events.size();
  size_t kept = 0;
  for (const epoll_event& event : events) {
    if (unwanted_.erase(event.data.fd) == 0) {
      events[kept++] = event;
    } else {
      epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, event.data.fd, nullptr);
    }
  }
  return kept;
}

void EpollSet::wait() {
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                      if (error || alive.expired()) return;
                      std::array<epoll_event, 256> events;
                      const int ready = epoll_wait(epoll_.native_handle(), events.data(),
                                                   static_cast<int>(events.size()), 0);
                      const size_t wanted = drop_unwanted(
                          std::span(events).first(static_cast<size_t>(std::max(ready, 0))));
                      if (wanted > 0) on_ready_(std::span(events).first(wanted));
                      if (!alive.expired()) wait();
                    });
}

}  // namespace windrow::http
