#include "http/epoll_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace windrow::http {
namespace {

// Two ends of a connection; one is watched and the loop's, the other makes it ready.
class Pair {
 public:
  explicit Pair(Loop& loop) : loop_(loop) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()), 0);
  }
  ~Pair() {
    loop_.run([this] { close_watched(); });
    ::close(ends_[1]);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int watched() const { return ends_[0]; }
  void make_ready() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void drain() const {
    std::array<char, 16> bytes{};
    while (::read(ends_[0], bytes.data(), bytes.size()) > 0) {
    }
  }
  void close_watched() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  Loop& loop_;
  std::array<int, 2> ends_ = {-1, -1};
};

class EpollSetTest : public ::testing::Test {
 protected:
  EpollSetTest() {
    loop_.run([this] {
      set_ = std::make_unique<EpollSet>(loop_, [this](std::span<const epoll_event> events) {
        for (const epoll_event& event : events) {
          set_->watch(event.data.fd, 0);
          const std::scoped_lock lock(mutex_);
          ++told_[event.data.fd];
        }
        changed_.notify_all();
      });
    });
  }
  ~EpollSetTest() override {
    loop_.run([this] { set_.reset(); });
  }

  void watch(int socket, uint32_t events) {
    loop_.run([&] { set_->watch(socket, events); });
  }
  // Waits until `socket` was told of, and forgets it.
  void wait_for(int socket) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_[socket] > 0; });
    told_.erase(socket);
  }
  int told(int socket) {
    const std::scoped_lock lock(mutex_);
    return told_[socket];
  }
  Loop& loop() { return loop_; }
  EpollSet& set() { return *set_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, int> told_;
  SystemClock clock_;
  Loop loop_{clock_};
  std::unique_ptr<EpollSet> set_;
};

TEST_F(EpollSetTest, TellsOfWhatIsWatchedAndOfNothingElse) {
  const Pair one(loop());
  const Pair other(loop());
  watch(one.watched(), EPOLLIN);
  watch(other.watched(), EPOLLIN);
  watch(one.watched(), 0);
  one.make_ready();
  other.make_ready();
  wait_for(other.watched());
  EXPECT_EQ(told(one.watched()), 0);
}

TEST_F(EpollSetTest, WhatIsNotWatchedAnyMoreLeavesTheEpollWhenItIsReady) {
  const Pair one(loop());
  const Pair other(loop());
  watch(one.watched(), EPOLLIN);
  watch(one.watched(), 0);
  one.make_ready();
  // A descriptor that stayed would be ready at every waking, for ever.
  for (int i = 0; i < 3; ++i) {
    watch(other.watched(), EPOLLIN);
    other.make_ready();
    wait_for(other.watched());
    other.drain();
  }
  EXPECT_EQ(told(one.watched()), 0);
  watch(one.watched(), EPOLLIN);
  wait_for(one.watched());
}

TEST_F(EpollSetTest, ASocketUnderANumberThatWasClosedIsWatchedAnew) {
  Pair one(loop());
  const int number = one.watched();
  watch(number, EPOLLIN);
  const Pair other(loop());
  loop().run([&] { one.close_watched(); });
  watch(number, 0);
  loop().run([&] { ASSERT_EQ(dup3(other.watched(), number, O_CLOEXEC), number); });
  watch(number, EPOLLIN);
  other.make_ready();
  wait_for(number);
  loop().run([&] { ::close(number); });
}

// For ThreadSanitizer, which sees what is done to a descriptor that another thread opened: libcurl
// closes a socket and only later stops waiting for it; in between the number may be reused.
TEST_F(EpollSetTest, NothingIsDoneToANumberThatIsAnothersByNow) {
  Pair one(loop());
  const int number = one.watched();
  watch(number, EPOLLIN);
  // Order without an order of memory: what this thread does happens later, but only by the clock.
  std::atomic<bool> was_closed = false;
  std::atomic<bool> was_opened = false;
  std::vector<int> opened;
  std::jthread thread([&] {
    while (!was_closed.load(std::memory_order_relaxed))
      std::this_thread::yield();
    // Each takes the lowest number that is free.
    while (opened.empty() || opened.back() < number)
      opened.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    was_opened.store(true, std::memory_order_relaxed);
  });
  loop().run([&] {
    one.close_watched();
    was_closed.store(true, std::memory_order_relaxed);
    while (!was_opened.load(std::memory_order_relaxed))
      std::this_thread::yield();
    set().watch(number, 0);
  });
  thread.join();
  EXPECT_EQ(opened.back(), number);
  for (const int socket : opened)
    ::close(socket);
}

}  // namespace
}  // namespace windrow::http
