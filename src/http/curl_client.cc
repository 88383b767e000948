#include "http/curl_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "http/curl_call.h"
#include "http/epoll_set.h"

namespace windrow::http {
namespace {

// libcurl wants this once, before any other thread calls it.
void start_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  ENSURE(code == CURLE_OK, "libcurl cannot start: {}", curl_easy_strerror(code));
}

template <class Value>
void set(CURLM* multi, CURLMoption option, Value value) {
  const CURLMcode code = curl_multi_setopt(multi, option, value);
  ENSURE(code == CURLM_OK, "libcurl refuses option {}: {}", static_cast<int>(option),
         curl_multi_strerror(code));
}

struct EndMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

// A call to send (with a request), to cancel or to go on with after a pause.
struct CallCommand {
  enum class What : uint8_t { kSend, kCancel, kResume };

  CallId id;
  What what = What::kSend;
  std::optional<ClientRequest> request;
  Client::Done done;
  TimePoint start{};
};

// When a client next has to check the limits of its calls. Calls end before their limits, as a
// rule, so nothing is kept in order: the client checks all of them when the first could be over,
// and at most a hundred times a second. On the loop's thread only.
class LimitTimer {
 public:
  // Ends the calls that are over at `now`; returns when the first of the others will be.
  using Check = std::function<TimePoint(TimePoint now)>;

  LimitTimer(Loop& loop, Check check) : loop_(loop), check_(std::move(check)), timer_(loop) {}

  // A call began, or got a limit that may be due sooner.
  void consider(const Limits& limits, const CallTimes& times) {
    const TimePoint due = due_limit(limits, times).at;
    if (due < armed_) arm(due);
  }

 private:
  void arm(TimePoint at) {
    armed_ = at;
    timer_.wake_at(at, [this] {
      armed_ = TimePoint::max();
      const TimePoint now = loop_.clock().now();
      const TimePoint next = check_(now);
      // A call that began during the check may have armed it for a sooner time.
      if (next < armed_) arm(std::max(next, now + std::chrono::milliseconds(10)));
    });
  }

  Loop& loop_;
  const Check check_;
  Timer timer_;
  TimePoint armed_ = TimePoint::max();
};

}  // namespace

// The multi handle that runs all calls, its sockets and timers. On the loop's thread, but for
// send() and cancel().
class CurlClient::Impl {
 public:
  Impl(Loop& loop, ClientOptions options)
      : loop_(loop),
        options_(std::move(options)),
        shared_{.loop = loop,
                .options = options_,
                .sockets = open_sockets_,
                .on_connected = [this](CallId id) { connected_.push_back(id); },
                .on_reply_budget = [this](CallId id) { post_resume(id); }} {
    start_curl();
    loop_.run([this] { open(); });
  }

  ~Impl() {
    loop_.run([this] { close(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Any thread.
  CallId send(ClientRequest request, Done done) {
    const CallId id(next_id_.fetch_add(1, std::memory_order_relaxed));
    put({.id = id,
         .request = std::move(request),
         .done = std::move(done),
         .start = loop_.clock().now()});
    return id;
  }

  // Any thread.
  void cancel(CallId id) { put({.id = id, .what = CallCommand::What::kCancel}); }
  void resume_soon(CallId id) { put({.id = id, .what = CallCommand::What::kResume}); }

 private:
  void put(CallCommand command) {
    if (commands_.put(std::move(command))) loop_.post([this] { take_commands(); });
  }

  void open() {
    sockets_ = std::make_unique<EpollSet>(
        loop_, [this](std::span<const epoll_event> events) { on_sockets(events); });
    curl_timer_ = std::make_unique<Timer>(loop_);
    limits_ =
        std::make_unique<LimitTimer>(loop_, [this](TimePoint now) { return check_limits(now); });
    multi_.reset(curl_multi_init());
    ENSURE(multi_ != nullptr, "no memory for libcurl");
    set(multi_.get(), CURLMOPT_SOCKETFUNCTION, &on_socket_wanted);
    set(multi_.get(), CURLMOPT_SOCKETDATA, this);
    set(multi_.get(), CURLMOPT_TIMERFUNCTION, &on_timer_wanted);
    set(multi_.get(), CURLMOPT_TIMERDATA, this);
    set(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
    set(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options_.connections_max));
    set(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options_.connections_max));
  }

  void close() {
    closing_ = true;
    do {
      while (!calls_.empty())
        cancel_call(*calls_.begin()->second);
      take_commands();
    } while (!calls_.empty());
    spare_.clear();
    multi_.reset();
    sockets_.reset();
    curl_timer_.reset();
    limits_.reset();
  }

  // --- what libcurl asks for --------------------------------------------------------------------

  static int on_socket_wanted(CURL*, curl_socket_t socket, int what, void* self, void*) {
    uint32_t events = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) events |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) events |= EPOLLOUT;
    static_cast<Impl*>(self)->sockets_->watch(socket, events);
    return 0;
  }

  static int on_timer_wanted(CURLM*, long timeout_ms, void* self) {
    auto* client = static_cast<Impl*>(self);
    client->curl_due_ = timeout_ms < 0
                            ? TimePoint::max()
                            : client->loop_.clock().now() + std::chrono::milliseconds(timeout_ms);
    return 0;
  }

  void on_sockets(std::span<const epoll_event> events) {
    for (const epoll_event& event : events) {
      int what = 0;
      if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
      if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
      act(event.data.fd, what);
    }
    settle();
  }

  void act(curl_socket_t socket, int what) {
    int running = 0;
    const CURLMcode code = curl_multi_socket_action(multi_.get(), socket, what, &running);
    ENSURE(code == CURLM_OK, "libcurl: {}", curl_multi_strerror(code));
  }

  // After every event: runs what libcurl wants to do at once, ends calls, sets the next timer.
  void settle() {
    while (curl_due_ <= loop_.clock().now()) {
      curl_due_ = TimePoint::max();
      act(CURL_SOCKET_TIMEOUT, 0);
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;  // the message dies with the handle's removal
      end_call(CurlCall::of(message->easy_handle), code);
    }
    for (const CallId id : connected_) {
      const auto found = calls_.find(id);
      if (found == calls_.end()) continue;
      limits_->consider(found->second->limits(), found->second->times());
    }
    connected_.clear();
    // A timer that wakes too early costs less than setting it for every call.
    if (curl_due_ < curl_armed_) {
      curl_armed_ = curl_due_;
      curl_timer_->wake_at(curl_armed_, [this] {
        curl_armed_ = TimePoint::max();
        settle();
      });
    }
  }

  // --- the life of a call -----------------------------------------------------------------------

  void take_commands() {
    commands_.take(taken_);
    for (CallCommand& command : taken_) {
      switch (command.what) {
        case CallCommand::What::kSend:
          start_call(std::move(command));
          break;
        case CallCommand::What::kCancel:
          if (const auto found = calls_.find(command.id); found != calls_.end())
            cancel_call(*found->second);
          break;
        case CallCommand::What::kResume:
          if (!closing_) resume(command.id);
          break;
      }
    }
    taken_.clear();
    if (!closing_) settle();
  }

  void start_call(CallCommand command) {
    if (std::optional<std::string> fault = request_fault(*command.request)) {
      command.done(ClientFailure{FailureKind::kProtocol, false, std::move(*fault)});
      return;
    }
    auto owned =
        std::make_unique<CurlCall>(shared_, command.id, *std::move(command.request),
                                   std::move(command.done), command.start, take_spare_handle());
    CurlCall& call = *owned;
    calls_.emplace(call.id(), std::move(owned));
    add_to_multi(call);
    limits_->consider(call.limits(), call.times());
  }

  CurlEasy take_spare_handle() {
    if (spare_.empty()) {
      CurlEasy easy(curl_easy_init());
      ENSURE(easy != nullptr, "no memory for libcurl");
      return easy;
    }
    CurlEasy easy = std::move(spare_.back());
    spare_.pop_back();
    return easy;
  }

  void add_to_multi(CurlCall& call) {
    const CURLMcode code = curl_multi_add_handle(multi_.get(), call.easy());
    ENSURE(code == CURLM_OK, "libcurl: {}", curl_multi_strerror(code));
  }

  // Not from within a callback of libcurl: it forbids the removal there.
  void end_call(CurlCall& call, CURLcode code) {
    switch (call.ended(code, [this] { return has_idle_connection(); })) {
      case CurlCall::Next::kRetryOnNewConnection:
        curl_multi_remove_handle(multi_.get(), call.easy());
        return add_to_multi(call);
      case CurlCall::Next::kRetryReplacingIdle:
        return retry_replacing_idle(call);
      case CurlCall::Next::kDone:
        return finish(call, call.result(code));
    }
  }

  // Closes the connection that has been idle longest, which libcurl does for a call that would
  // exceed the largest number of connections.
  void retry_replacing_idle(CurlCall& call) {
    curl_multi_remove_handle(multi_.get(), call.easy());
    set(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, 1L);
    add_to_multi(call);
    act(CURL_SOCKET_TIMEOUT, 0);
    set(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options_.connections_max));
  }

  // As far as can be told: over HTTP/2 one connection has many calls.
  bool has_idle_connection() const {
    const auto busy = std::ranges::count_if(
        calls_, [](const auto& entry) { return entry.second->uses_connection(); });
    return std::cmp_greater(open_sockets_.open_count(), busy);
  }

  void cancel_call(CurlCall& call) { finish(call, call.cancelled()); }

  // Not from within a callback of libcurl.
  void finish(CurlCall& call, ClientResult result) {
    curl_multi_remove_handle(multi_.get(), call.easy());
    // The call lives, and its reply counts, until Done has returned.
    const auto node = calls_.extract(call.id());
    spare_.push_back(call.take_easy());
    const Done done = call.take_done();
    done(std::move(result));
  }

  TimePoint check_limits(TimePoint now) {
    TimePoint next = TimePoint::max();
    std::vector<std::pair<CallId, LimitKind>> over;
    for (const auto& [id, call] : calls_) {
      const DueLimit due = call->due(now);
      if (due.at <= now) {
        over.emplace_back(id, due.kind);
      } else {
        next = std::min(next, due.at);
      }
    }
    for (const auto& [id, kind] : over) {
      const auto found = calls_.find(id);
      if (found != calls_.end()) finish(*found->second, found->second->timed_out(kind));
    }
    settle();
    return next;
  }

  // The reply budget must not change while it calls, so this goes by way of the loop.
  void post_resume(CallId id) {
    loop_.post([this, id, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) resume(id);
    });
  }

  void resume(CallId id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    CurlCall& call = *found->second;
    call.resume_clock();
    // Delivers at once what libcurl kept; the call may be paused again by that.
    const CURLcode code = curl_easy_pause(call.easy(), CURLPAUSE_CONT);
    if (code != CURLE_OK) {
      end_call(call, code);
    } else {
      limits_->consider(call.limits(), call.times());
    }
    settle();
  }

  Loop& loop_;
  const ClientOptions options_;
  CurlSockets open_sockets_;
  CurlShared shared_;

  Mailbox<CallCommand> commands_;
  std::atomic<uint64_t> next_id_ = 1;
  std::vector<CallCommand> taken_;

  std::unique_ptr<EpollSet> sockets_;
  std::unique_ptr<Timer> curl_timer_;
  TimePoint curl_due_ = TimePoint::max();    // when libcurl wants to be called
  TimePoint curl_armed_ = TimePoint::max();  // when curl_timer_ wakes
  std::unique_ptr<LimitTimer> limits_;
  std::unique_ptr<CURLM, EndMulti> multi_;
  std::unordered_map<CallId, std::unique_ptr<CurlCall>> calls_;
  std::vector<CallId> connected_;  // since the last settle(); only calls with an idle limit
  std::vector<CurlEasy> spare_;    // used handles, for the next calls
  bool closing_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

CurlClient::CurlClient(Loop& loop, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}

CurlClient::~CurlClient() = default;

CallId CurlClient::send(ClientRequest request, Done done) {
  return impl_->send(std::move(request), std::move(done));
}

void CurlClient::cancel(CallId call) {
  impl_->cancel(call);
}

void CurlClient::resume(CallId call) {
  impl_->resume_soon(call);
}

}  // namespace windrow::http
