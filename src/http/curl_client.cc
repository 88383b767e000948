#include "http/curl_client.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "http/call_commands.h"
#include "http/epoll_set.h"
#include "http/failure_text.h"
#include "http/kept_connections.h"
#include "http/limit_watch.h"
#include "http/no_file.h"

namespace windrow::http {
namespace {

// libcurl wants this once, before any other thread calls it.
void start_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  ENSURE(code == CURLE_OK, "libcurl cannot start: {}", curl_easy_strerror(code));
}

// Of options that this file sets: none can fail but for want of memory.
template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  ENSURE(code == CURLE_OK, "libcurl refuses option {}: {}", static_cast<int>(option),
         curl_easy_strerror(code));
}

template <class Value>
void set(CURLM* multi, CURLMoption option, Value value) {
  const CURLMcode code = curl_multi_setopt(multi, option, value);
  ENSURE(code == CURLM_OK, "libcurl refuses option {}: {}", static_cast<int>(option),
         curl_multi_strerror(code));
}

template <class Value>
Value get(CURL* easy, CURLINFO info) {
  Value value{};
  curl_easy_getinfo(easy, info, &value);
  return value;
}

struct EndEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct EndMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct EndList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EndEasy>;
using List = std::unique_ptr<curl_slist, EndList>;

void append(List& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  ENSURE(longer != nullptr, "no memory for a header");
  // The head of a list that was there stays the same.
  if (!list) list.reset(longer);
}

// "Name: value", and in libcurl's own way "Name;" for one without a value.
List header_list(const ClientRequest& request) {
  List list;
  for (const Headers::Field field : request.headers) {
    std::string line(field.name);
    if (field.value.empty()) {
      line += ';';
    } else {
      line.append(": ").append(field.value);
    }
    append(list, line);
  }
  // Without these, libcurl would wait for a permission to send a large body, and call it a form.
  append(list, "Expect:");
  if (request.body && !request.headers.has("Content-Type")) append(list, "Content-Type:");
  return list;
}

struct Call {
  CallId id;
  // For libcurl's callbacks, which know only the call.
  Loop* loop = nullptr;
  std::vector<CallId>* connected = nullptr;
  void* client = nullptr;  // the Impl
  KeptConnections* connections = nullptr;
  size_t* sockets_open = nullptr;
  std::vector<int> sockets_made;  // for this call
  KeptConnection* connection = nullptr;

  ClientRequest request;
  Client::Done done;
  CallPlace place;
  CallTimes times;
  Easy easy;
  List headers;
  std::array<char, CURL_ERROR_SIZE> error{};

  ReplyHead head;
  std::string body;
  std::optional<ReplyRoom::Part> room;  // of the body, from kReplyCountedFrom on
  size_t head_bytes = 0;
  size_t body_bytes = 0;
  curl_off_t uploaded_bytes = 0;
  TimePoint first_byte{};
  bool reply_began = false;
  bool head_ended = false;
  bool is_unclean = false;   // the connection had bytes before the request was written
  bool was_retried = false;  // for that, once
  bool lacks_file = false;   // there was none for its connection
  bool made_room = false;    // one that rested was closed for it, once
  // Why a callback ended the call.
  std::optional<ClientFailure> failure;
};

// "HTTP/1.1 200 OK".
void read_status_line(std::string_view line, ReplyHead& head) {
  head.headers.clear();
  head.version = line.starts_with("HTTP/2")     ? HttpVersion::k2
                 : line.starts_with("HTTP/1.0") ? HttpVersion::k1_0
                                                : HttpVersion::k1_1;
  const size_t blank = std::min(line.find(' '), line.size() - 1);
  std::from_chars(line.data() + blank + 1, line.data() + line.size(), head.status);
}

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool speaks_no_tls(std::string_view error) {
  // What OpenSSL says when the first bytes of the other side are no TLS record.
  for (const std::string_view words :
       {"wrong version number", "packet length too long", "http request", "unknown protocol"}) {
    if (error.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// What comes of it where a file cannot be opened and libcurl does not say why: of certificates, of
// the resolver.
bool may_lack_file(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_SSL_CACERT_BADFILE;
}

// What libcurl's code means to us. The text libcurl wrote into `error` is a detail for people.
ClientFailure failure_of(const Call& call, CURLcode code) {
  const CallPlace& place = call.place;
  std::string_view detail = call.error.data();
  if (detail.empty()) detail = curl_easy_strerror(code);
  const auto failure = [&](FailureKind kind, std::string text) {
    return ClientFailure{kind, call.times.connected, std::move(text)};
  };
  const auto os_error = static_cast<int>(get<long>(call.easy.get(), CURLINFO_OS_ERRNO));
  const std::string os_text = os_error == 0 ? "" : std::generic_category().message(os_error);
  if (call.lacks_file) return failure(FailureKind::kFiles, files_text(place, ""));
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return failure(FailureKind::kResolve, resolve_text(place, ""));
    case CURLE_COULDNT_RESOLVE_PROXY:
      return failure(FailureKind::kProxy, proxy_text(place, 0, "its name has no address"));
    case CURLE_COULDNT_CONNECT:
      if (place.proxy) return failure(FailureKind::kProxy, proxy_text(place, 0, os_text));
      return failure(FailureKind::kConnect, connect_text(place, os_error == ECONNREFUSED, os_text));
    case CURLE_PROXY:
      return failure(FailureKind::kProxy, proxy_text(place, 0, detail));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return failure(FailureKind::kTls, tls_text(place, {.untrusted = true}, detail));
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_USE_SSL_FAILED:
      return failure(FailureKind::kTls,
                     tls_text(place, {.is_plain = speaks_no_tls(detail)}, detail));
    case CURLE_OPERATION_TIMEDOUT:
      return failure(FailureKind::kTimeout, timeout_text(place, LimitKind::kConnect,
                                                         call.request.limits, call.reply_began));
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2_STREAM:
      // Before there was a connection to the server, the proxy is who hung up or said no.
      if (place.proxy && !call.times.connected) {
        const long status = get<long>(call.easy.get(), CURLINFO_HTTP_CONNECTCODE);
        return failure(FailureKind::kProxy,
                       proxy_text(place, static_cast<int32_t>(status), detail));
      }
      return failure(FailureKind::kReset, reset_text(place, call.reply_began, os_text));
    default:
      return failure(FailureKind::kProtocol, protocol_text(place, detail));
  }
}

}  // namespace

// All of it on the loop's thread, but for commands_.
class CurlClient::Impl {
 public:
  Impl(Loop& loop, ClientOptions options)
      : loop_(loop), options_(std::move(options)), commands_(loop, [this] { take_commands(); }) {
    start_curl();
    loop_.run([this] { open(); });
  }

  ~Impl() {
    loop_.run([this] { close(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  CallCommands& commands() { return commands_; }

 private:
  void open() {
    sockets_ = std::make_unique<EpollSet>(
        loop_, [this](std::span<const epoll_event> events) { on_sockets(events); });
    curl_timer_ = std::make_unique<Timer>(loop_);
    limits_ =
        std::make_unique<LimitWatch>(loop_, [this](TimePoint now) { return check_limits(now); });
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

  // After anything happened: what libcurl wants to do at once, calls that ended, the next waking.
  void settle() {
    while (curl_due_ <= loop_.clock().now()) {
      curl_due_ = TimePoint::max();
      act(CURL_SOCKET_TIMEOUT, 0);
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;  // the message dies with the handle's removal
      end_call(*get<Call*>(message->easy_handle, CURLINFO_PRIVATE), code);
    }
    for (const CallId id : connected_) {
      const auto found = calls_.find(id);
      if (found == calls_.end()) continue;
      limits_->consider(found->second->request.limits, found->second->times);
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
      if (!command.request) {
        const auto found = calls_.find(command.id);
        if (found != calls_.end()) cancel_call(*found->second);
      } else {
        start_call(std::move(command));
      }
    }
    taken_.clear();
    if (!closing_) settle();
  }

  void start_call(CallCommand command) {
    auto owned = std::make_unique<Call>();
    Call& call = *owned;
    call.id = command.id;
    call.loop = &loop_;
    call.connected = &connected_;
    call.client = this;
    call.connections = &connections_;
    call.sockets_open = &sockets_open_;
    call.request = std::move(*command.request);
    call.done = std::move(command.done);
    call.place.url = call.request.url;
    call.place.proxy = choose_proxy(options_.proxies, call.place.url);
    call.times = {.start = command.start, .progress = command.start};
    if (std::optional<std::string> fault = request_fault(call.request)) {
      call.done(ClientFailure{FailureKind::kProtocol, false, std::move(*fault)});
      return;
    }
    if (spare_.empty()) {
      call.easy.reset(curl_easy_init());
      ENSURE(call.easy != nullptr, "no memory for libcurl");
    } else {
      call.easy = std::move(spare_.back());
      spare_.pop_back();
    }
    set_options(call);
    calls_.emplace(call.id, std::move(owned));
    const CURLMcode code = curl_multi_add_handle(multi_.get(), call.easy.get());
    ENSURE(code == CURLM_OK, "libcurl: {}", curl_multi_strerror(code));
    limits_->consider(call.request.limits, call.times);
  }

  void set_options(Call& call) {
    CURL* easy = call.easy.get();
    const ClientRequest& request = call.request;
    call.headers = header_list(request);
    const std::string url = to_string(request.url);
    set(easy, CURLOPT_URL, url.c_str());
    set(easy, CURLOPT_PRIVATE, &call);
    set(easy, CURLOPT_ERRORBUFFER, call.error.data());
    set(easy, CURLOPT_HTTPHEADER, call.headers.get());
    if (!request.headers.has("User-Agent")) set(easy, CURLOPT_USERAGENT, "windrow");
    if (!request.headers.has("Accept-Encoding")) set(easy, CURLOPT_ACCEPT_ENCODING, "");
    if (request.method == Method::kHead) {
      set(easy, CURLOPT_NOBODY, 1L);
    } else if (request.body || request.method == Method::kPost) {
      set(easy, CURLOPT_POST, 1L);
      set(easy, CURLOPT_POSTFIELDSIZE_LARGE,
          static_cast<curl_off_t>(request.body ? request.body->size() : 0));
      set(easy, CURLOPT_POSTFIELDS, request.body ? request.body->data() : "");
    }
    if (request.method != Method::kHead && request.method != Method::kGet) {
      set(easy, CURLOPT_CUSTOMREQUEST, std::string(to_string(request.method)).c_str());
    } else if (request.method == Method::kGet && request.body) {
      set(easy, CURLOPT_CUSTOMREQUEST, "GET");
    }
    // A server may think for longer than a router remembers the connection.
    set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    // No signals: there are other threads. No path is changed: a server may mean its dots.
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    // Said in any case, because libcurl would otherwise read the environment by rules of its own.
    set(easy, CURLOPT_PROXY, call.place.proxy ? call.place.proxy->url.c_str() : "");
    set(easy, CURLOPT_NOPROXY, call.place.proxy ? "" : "*");
    if (request.redirects_max > 0) {
      set(easy, CURLOPT_FOLLOWLOCATION, 1L);
      set(easy, CURLOPT_MAXREDIRS, static_cast<long>(request.redirects_max));
      set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    }
    if (request.url.tls) {
      set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
      // The first connection tells whether one is enough for all.
      set(easy, CURLOPT_PIPEWAIT, 1L);
    } else {
      set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    }
    if (!options_.ca_file.empty()) set(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
    // Our own limits end a call; libcurl's would count from its own beginning.
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, 24L * 3600 * 1000);
    set(easy, CURLOPT_PREREQFUNCTION, &on_connected);
    set(easy, CURLOPT_PREREQDATA, &call);
    set(easy, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    set(easy, CURLOPT_OPENSOCKETDATA, &call);
    set(easy, CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
    set(easy, CURLOPT_CLOSESOCKETDATA, this);
    set(easy, CURLOPT_SOCKOPTFUNCTION, &on_socket_made);
    set(easy, CURLOPT_SOCKOPTDATA, &call);
    set(easy, CURLOPT_HEADERFUNCTION, &on_header);
    set(easy, CURLOPT_HEADERDATA, &call);
    set(easy, CURLOPT_WRITEFUNCTION, &on_body);
    set(easy, CURLOPT_WRITEDATA, &call);
  }

  // On a connection of its own. Not from within a callback of libcurl.
  void start_again(Call& call) {
    curl_multi_remove_handle(multi_.get(), call.easy.get());
    call.was_retried = true;
    call.error = {};
    set(call.easy.get(), CURLOPT_FRESH_CONNECT, 1L);
    const CURLMcode code = curl_multi_add_handle(multi_.get(), call.easy.get());
    ENSURE(code == CURLM_OK, "libcurl: {}", curl_multi_strerror(code));
  }

  // With the connection that rests longest closed, which libcurl does for who needs one beyond the
  // most there may be. Not from within a callback of libcurl.
  void start_in_place_of_one(Call& call) {
    curl_multi_remove_handle(multi_.get(), call.easy.get());
    call.made_room = true;
    call.lacks_file = false;
    call.error = {};
    set(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, 1L);
    const CURLMcode code = curl_multi_add_handle(multi_.get(), call.easy.get());
    ENSURE(code == CURLM_OK, "libcurl: {}", curl_multi_strerror(code));
    act(CURL_SOCKET_TIMEOUT, 0);
    set(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options_.connections_max));
  }

  // As far as can be told: over HTTP/2 one connection has many calls.
  bool has_idle_connection() const {
    const auto busy = std::ranges::count_if(calls_, [](const auto& entry) {
      const Call& call = *entry.second;
      return call.connection != nullptr || (!call.sockets_made.empty() && !call.lacks_file);
    });
    return std::cmp_greater(sockets_open_, busy);
  }

  void end_call(Call& call, CURLcode code) {
    call.lacks_file = code != CURLE_OK && !call.times.connected &&
                      (call.lacks_file || (may_lack_file(code) && no_file_is_left()));
    if (std::exchange(call.is_unclean, false) && !call.was_retried) {
      start_again(call);
    } else if (call.lacks_file && !call.made_room && has_idle_connection()) {
      start_in_place_of_one(call);
    } else if (call.failure) {
      finish(call, std::move(*call.failure));
    } else if (code == CURLE_TOO_MANY_REDIRECTS) {
      finish(call, reply_of(call));  // the last redirect is the reply, as it is without following
    } else if (code != CURLE_OK) {
      finish(call, failure_of(call, code));
    } else if (!call.head_ended) {
      // libcurl takes a header that was cut off for a whole one.
      finish(call, ClientFailure{FailureKind::kReset, true, reset_text(call.place, true, "")});
    } else if (call.place.proxy && call.head.status == 407) {
      finish(call, ClientFailure{FailureKind::kProxy, false, proxy_text(call.place, 407, "")});
    } else {
      finish(call, reply_of(call));
    }
  }

  ClientReply reply_of(Call& call) const {
    return {.head = std::move(call.head),
            .body = std::move(call.body),
            .first_byte = call.first_byte - call.times.start,
            .total = loop_.clock().now() - call.times.start,
            .via_proxy = call.place.proxy.has_value()};
  }

  void cancel_call(Call& call) {
    finish(call, ClientFailure{FailureKind::kCancelled, call.times.connected,
                               cancelled_text(call.place)});
  }

  // Not from within a callback of libcurl: it forbids the removal there.
  void finish(Call& call, ClientResult result) {
    curl_multi_remove_handle(multi_.get(), call.easy.get());
    // Its room is given back when Done has returned.
    const auto node = calls_.extract(call.id);
    curl_easy_reset(call.easy.get());
    spare_.push_back(std::move(call.easy));
    const Done done = std::move(call.done);
    done(std::move(result));
  }

  // --- limits of time ---------------------------------------------------------------------------

  TimePoint check_limits(TimePoint now) {
    TimePoint next = TimePoint::max();
    std::vector<std::pair<CallId, LimitKind>> over;
    for (const auto& [id, call] : calls_) {
      DueLimit due = due_limit(call->request.limits, call->times);
      if (due.at <= now && due.kind == LimitKind::kIdle && has_uploaded(*call)) {
        call->times.progress = now;
        due = due_limit(call->request.limits, call->times);
      }
      if (due.at <= now) {
        over.emplace_back(id, due.kind);
      } else {
        next = std::min(next, due.at);
      }
    }
    for (const auto& [id, kind] : over) {
      const auto found = calls_.find(id);
      if (found == calls_.end()) continue;
      Call& call = *found->second;
      finish(call,
             ClientFailure{FailureKind::kTimeout, call.times.connected,
                           timeout_text(call.place, kind, call.request.limits, call.reply_began)});
    }
    settle();
    return next;
  }

  // Since the last time this was asked: the one kind of progress that no callback tells.
  static bool has_uploaded(Call& call) {
    const auto bytes = get<curl_off_t>(call.easy.get(), CURLINFO_SIZE_UPLOAD_T);
    return std::exchange(call.uploaded_bytes, bytes) != bytes;
  }

  // --- callbacks of a call ----------------------------------------------------------------------

  // Before the request is written, on a new connection and on one that was kept.
  static int on_connected(void* of, char*, char* address, int, int port) {
    auto* call = static_cast<Call*>(of);
    call->times.connected = true;
    call->times.progress = call->loop->clock().now();
    if (call->request.limits.idle > Duration::zero()) call->connected->push_back(call->id);
    const bool is_new = get<long>(call->easy.get(), CURLINFO_NUM_CONNECTS) > 0;
    call->connection = is_new ? &call->connections->opened(address, port, call->sockets_made)
                              : &call->connections->kept(address, port);
    call->is_unclean = has_unasked_bytes(*call->connection);
    return call->is_unclean ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
  }

  static curl_socket_t open_socket(void* of, curlsocktype, curl_sockaddr* address) {
    auto* call = static_cast<Call*>(of);
    const int socket =
        ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (socket < 0) {
      call->lacks_file = is_for_want_of_files(errno);
      return CURL_SOCKET_BAD;
    }
    ++*call->sockets_open;
    return socket;
  }

  // Often long after the call that opened it.
  static int close_socket(void* self, curl_socket_t socket) {
    --static_cast<Impl*>(self)->sockets_open_;
    return ::close(socket);
  }

  // A new socket, before it connects. Of several that are tried one becomes the connection.
  static int on_socket_made(void* of, curl_socket_t socket, curlsocktype) {
    static_cast<Call*>(of)->sockets_made.push_back(socket);
    return CURL_SOCKOPT_OK;
  }

  // One line of the header, its end included; an empty one ends it. A new status line starts again:
  // after "100 Continue", a redirect that is followed, a proxy's answer.
  static size_t on_header(char* data, size_t size, size_t count, void* of) {
    auto* call = static_cast<Call*>(of);
    const std::string_view line(data, size * count);
    call->times.progress = call->loop->clock().now();
    if (!std::exchange(call->reply_began, true)) call->first_byte = call->times.progress;
    call->head_bytes += line.size();
    if (call->head_bytes > kReplyHeadBytesMax) {
      call->failure = {FailureKind::kTooLarge, true, head_too_large_text(call->place)};
      return 0;
    }
    const size_t colon = line.find(':');
    if (line.starts_with("HTTP/")) {
      read_status_line(line, call->head);
      call->head_ended = false;
    } else if (line == "\r\n" || line == "\n") {
      call->head_ended = true;
      if (call->connection != nullptr) call->connection->version = call->head.version;
    } else if (colon != std::string_view::npos) {
      call->head.headers.add(line.substr(0, colon), without_blanks(line.substr(colon + 1)));
    }
    return line.size();
  }

  static size_t on_body(char* data, size_t size, size_t count, void* of) {
    auto* call = static_cast<Call*>(of);
    const std::string_view piece(data, size * count);
    call->times.progress = call->loop->clock().now();
    const bool is_success = call->head.status >= 200 && call->head.status < 300;
    const bool collects = !call->request.on_data || !is_success;
    if (collects && !static_cast<Impl*>(call->client)->has_room_for(*call))
      return CURL_WRITEFUNC_PAUSE;
    call->body_bytes += piece.size();
    if (call->body_bytes > call->request.limits.reply_bytes_max) {
      call->failure = {FailureKind::kTooLarge, true,
                       body_too_large_text(call->place, call->request.limits.reply_bytes_max)};
      return CURL_WRITEFUNC_ERROR;
    }
    if (collects) {
      call->body.append(piece);
      if (call->room) call->room->hold(call->body.size());
    } else if (!call->request.on_data(call->head, piece)) {
      call->failure = {FailureKind::kCancelled, true, cancelled_text(call->place)};
      return CURL_WRITEFUNC_ERROR;
    }
    return piece.size();
  }

  // False: the call goes on when there is room again. libcurl keeps the piece until then.
  bool has_room_for(Call& call) {
    if (options_.reply_room == nullptr || call.body.size() < kReplyCountedFrom) return true;
    if (!call.room) {
      call.room.emplace(*options_.reply_room, [this, id = call.id, alive = std::weak_ptr(alive_)] {
        loop_.post([this, id, alive] {
          if (!alive.expired()) resume(id);
        });
      });
    }
    // Over HTTP/2 a reply that is not read stops all others of its connection (libcurl 7.88), also
    // the one that must go on.
    if (call.head.version == HttpVersion::k2 || call.room->may_grow()) return true;
    if (!call.times.paused) call.times.paused = loop_.clock().now();
    return false;
  }

  void resume(CallId id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Call& call = *found->second;
    resume_times(call.times, loop_.clock().now());
    // Hands over what was kept, at once; it may be paused again by that.
    const CURLcode code = curl_easy_pause(call.easy.get(), CURLPAUSE_CONT);
    if (code != CURLE_OK) {
      end_call(call, code);
    } else {
      limits_->consider(call.request.limits, call.times);
    }
    settle();
  }

  Loop& loop_;
  const ClientOptions options_;
  CallCommands commands_;
  std::vector<CallCommand> taken_;

  std::unique_ptr<EpollSet> sockets_;
  std::unique_ptr<Timer> curl_timer_;
  TimePoint curl_due_ = TimePoint::max();    // when libcurl wants to be called
  TimePoint curl_armed_ = TimePoint::max();  // when curl_timer_ wakes
  std::unique_ptr<LimitWatch> limits_;
  std::unique_ptr<CURLM, EndMulti> multi_;
  std::unordered_map<CallId, std::unique_ptr<Call>> calls_;
  KeptConnections connections_;
  size_t sockets_open_ = 0;
  std::vector<CallId> connected_;  // since the last settle; only calls with an idle limit
  std::vector<Easy> spare_;        // handles that were used, for the next calls
  bool closing_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

CurlClient::CurlClient(Loop& loop, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}

CurlClient::~CurlClient() = default;

CallId CurlClient::send(ClientRequest request, Done done) {
  return impl_->commands().send(std::move(request), std::move(done));
}

void CurlClient::cancel(CallId call) {
  impl_->commands().cancel(call);
}

}  // namespace windrow::http
