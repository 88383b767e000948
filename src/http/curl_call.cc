#include "http/curl_call.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/ensure.h"

namespace windrow::http {
namespace {

// libcurl's own is an eighth of that.
constexpr long kLongReplyBuffer = 128L * 1024;

// For options that cannot fail but for want of memory.
template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  ENSURE(code == CURLE_OK, "libcurl refuses option {}: {}", static_cast<int>(option),
         curl_easy_strerror(code));
}

template <class Value>
Value get(CURL* easy, CURLINFO info) {
  Value value{};
  curl_easy_getinfo(easy, info, &value);
  return value;
}

void append(CurlList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  ENSURE(longer != nullptr, "no memory for a header");
  // Appending to a list keeps its head.
  if (!list) list.reset(longer);
}

// Lines "Name: value"; libcurl wants "Name;" for a field without a value.
CurlList header_list(const ClientRequest& request) {
  CurlList list;
  for (const Headers::Field field : request.headers) {
    std::string line(field.name);
    if (field.value.empty()) {
      line += ';';
    } else {
      line.append(": ").append(field.value);
    }
    append(list, line);
  }
  // Without these, libcurl would wait for "100 Continue" before a large body and call it a form.
  append(list, "Expect:");
  if (request.body && !request.headers.has("Content-Type")) append(list, "Content-Type:");
  return list;
}

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
  // OpenSSL's texts for first bytes that are no TLS record.
  for (const std::string_view words :
       {"wrong version number", "packet length too long", "http request", "unknown protocol"}) {
    if (error.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// Whether libcurl returns `code` also when it could open no file, of certificates or of the
// resolver, without saying so.
bool may_lack_file(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
         code == CURLE_SSL_CACERT_BADFILE;
}

}  // namespace

CurlCall::CurlCall(CurlShared& shared, CallId id, ClientRequest request, Client::Done done,
                   TimePoint start, CurlEasy easy)
    : shared_(shared),
      id_(id),
      request_(std::move(request)),
      done_(std::move(done)),
      target_{.url = request_.url, .proxy = choose_proxy(shared.options.proxies, request_.url)},
      times_{.start = start, .progress = start},
      easy_(std::move(easy)),
      headers_(header_list(request_)) {
  set_options();
  set_method();
  set_callbacks();
}

CurlCall& CurlCall::of(CURL* easy) {
  return *get<CurlCall*>(easy, CURLINFO_PRIVATE);
}

CurlEasy CurlCall::take_easy() {
  curl_easy_reset(easy_.get());
  return std::move(easy_);
}

// --- options ------------------------------------------------------------------------------------

void CurlCall::set_options() {
  CURL* easy = easy_.get();
  const std::string url = to_string(request_.url);
  set(easy, CURLOPT_URL, url.c_str());
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_ERRORBUFFER, error_.data());
  set(easy, CURLOPT_HTTPHEADER, headers_.get());
  if (!request_.headers.has("User-Agent")) set(easy, CURLOPT_USERAGENT, "windrow");
  if (!request_.headers.has("Accept-Encoding")) set(easy, CURLOPT_ACCEPT_ENCODING, "");
  // A server may think for longer than a router remembers the connection.
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  // No signals: there are other threads. The path is sent as it is: a server may mean its dots.
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // Always set: libcurl would otherwise read the environment by rules of its own.
  set(easy, CURLOPT_PROXY, target_.proxy ? target_.proxy->url.c_str() : "");
  set(easy, CURLOPT_NOPROXY, target_.proxy ? "" : "*");
  if (request_.redirects_max > 0) {
    set(easy, CURLOPT_FOLLOWLOCATION, 1L);
    set(easy, CURLOPT_MAXREDIRS, static_cast<long>(request_.redirects_max));
    set(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  }
  if (request_.url.tls && !request_.takes_more) {
    set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    // The first connection shows whether one is enough for all.
    set(easy, CURLOPT_PIPEWAIT, 1L);
  } else {
    set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
  if (!shared_.options.ca_file.empty()) set(easy, CURLOPT_CAINFO, shared_.options.ca_file.c_str());
  // A reply that may be large is read by fewer calls of the system.
  if (request_.limits.taken_bytes_max) set(easy, CURLOPT_BUFFERSIZE, kLongReplyBuffer);
  // CurlClient's limits end a call; libcurl's would count from its own start of the call.
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, 24L * 3600 * 1000);
}

void CurlCall::set_method() {
  CURL* easy = easy_.get();
  const Method method = request_.method;
  const std::shared_ptr<const std::string>& body = request_.body;
  if (method == Method::kHead) {
    set(easy, CURLOPT_NOBODY, 1L);
  } else if (body || method == Method::kPost) {
    set(easy, CURLOPT_POST, 1L);
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body ? body->size() : 0));
    set(easy, CURLOPT_POSTFIELDS, body ? body->data() : "");
  }
  if (method != Method::kHead && method != Method::kGet) {
    set(easy, CURLOPT_CUSTOMREQUEST, std::string(to_string(method)).c_str());
  } else if (method == Method::kGet && body) {
    set(easy, CURLOPT_CUSTOMREQUEST, "GET");
  }
}

void CurlCall::set_callbacks() {
  CURL* easy = easy_.get();
  set(easy, CURLOPT_PREREQFUNCTION, &on_connected);
  set(easy, CURLOPT_PREREQDATA, this);
  set(easy, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  set(easy, CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  set(easy, CURLOPT_CLOSESOCKETDATA, &shared_.sockets);
  set(easy, CURLOPT_SOCKOPTFUNCTION, &on_socket_made);
  set(easy, CURLOPT_SOCKOPTDATA, this);
  set(easy, CURLOPT_HEADERFUNCTION, &on_header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &on_body);
  set(easy, CURLOPT_WRITEDATA, this);
}

// --- its connection -----------------------------------------------------------------------------

bool CurlCall::uses_connection() const {
  return connection_ != nullptr || (!sockets_made_.empty() && !at_file_limit_);
}

curl_socket_t CurlCall::open_socket(void* of, curlsocktype, curl_sockaddr* address) {
  auto* call = static_cast<CurlCall*>(of);
  const int socket =
      call->shared_.sockets.open(address->family, address->socktype, address->protocol);
  if (socket >= 0) return socket;
  call->at_file_limit_ = is_file_limit(errno);
  return CURL_SOCKET_BAD;
}

// Called often long after the end of the call that opened the socket.
int CurlCall::close_socket(void* sockets, curl_socket_t socket) {
  return static_cast<CurlSockets*>(sockets)->close(socket);
}

// A new socket, before it connects. Of several that are tried one becomes the connection.
int CurlCall::on_socket_made(void* of, curl_socket_t socket, curlsocktype) {
  static_cast<CurlCall*>(of)->sockets_made_.push_back(socket);
  return CURL_SOCKOPT_OK;
}

// Before the request is written, on a new connection and on a kept one.
int CurlCall::on_connected(void* of, char*, char* address, int, int port) {
  auto* call = static_cast<CurlCall*>(of);
  call->times_.connected = true;
  call->times_.progress = call->shared_.loop.clock().now();
  if (call->limits().idle > Duration::zero()) call->shared_.on_connected(call->id_);
  const bool is_new = get<long>(call->easy(), CURLINFO_NUM_CONNECTS) > 0;
  CurlSockets& sockets = call->shared_.sockets;
  call->connection_ = is_new ? &sockets.connected(address, port, call->sockets_made_)
                             : &sockets.reused(address, port);
  call->has_stray_bytes_ = has_stray_bytes(*call->connection_);
  return call->has_stray_bytes_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

// --- the reply ----------------------------------------------------------------------------------

size_t CurlCall::on_header(char* data, size_t size, size_t count, void* of) {
  return static_cast<CurlCall*>(of)->take_header(std::string_view(data, size * count));
}

size_t CurlCall::on_body(char* data, size_t size, size_t count, void* of) {
  return static_cast<CurlCall*>(of)->take_body(std::string_view(data, size * count));
}

// One line of the header, its end included; an empty one ends it. A new status line starts again:
// after "100 Continue", after a redirect that is followed, after a proxy's answer.
size_t CurlCall::take_header(std::string_view line) {
  times_.progress = shared_.loop.clock().now();
  if (!std::exchange(reply_began_, true)) first_byte_ = times_.progress;
  head_bytes_ += line.size();
  if (head_bytes_ > kReplyHeadBytesMax) {
    failure_ = {FailureKind::kTooLarge, true, head_too_large_text(target_)};
    return 0;
  }
  const size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    read_status_line(line, head_);
    head_ended_ = false;
  } else if (line == "\r\n" || line == "\n") {
    head_ended_ = true;
    if (connection_ != nullptr) connection_->version = head_.version;
  } else if (colon != std::string_view::npos) {
    head_.headers.add(line.substr(0, colon), without_blanks(line.substr(colon + 1)));
  }
  return line.size();
}

size_t CurlCall::take_body(std::string_view piece) {
  times_.progress = shared_.loop.clock().now();
  const bool is_success = head_.status >= 200 && head_.status < 300;
  const bool collects = !request_.on_data || !is_success;
  // libcurl keeps the piece until the call goes on.
  if (collects ? !may_take_more() : !is_taken_now()) return CURL_WRITEFUNC_PAUSE;
  body_bytes_ += piece.size();
  const size_t bytes_max = collects ? limits().reply_bytes_max
                                    : limits().taken_bytes_max.value_or(limits().reply_bytes_max);
  if (body_bytes_ > bytes_max) {
    failure_ = {FailureKind::kTooLarge, true, body_too_large_text(target_, bytes_max)};
    return CURL_WRITEFUNC_ERROR;
  }
  if (collects) {
    body_.append(piece);
    if (budget_) budget_->hold(body_.size());
  } else if (!request_.on_data(head_, piece)) {
    failure_ = {FailureKind::kCancelled, true, cancelled_text(target_)};
    return CURL_WRITEFUNC_ERROR;
  }
  return piece.size();
}

// False: the call is paused until on_reply_budget.
bool CurlCall::may_take_more() {
  if (shared_.options.reply_budget == nullptr || body_.size() < kReplyCountedFrom) return true;
  if (!budget_) {
    budget_.emplace(*shared_.options.reply_budget, [this] { shared_.on_reply_budget(id_); });
  }
  // Over HTTP/2 a reply that is not read stops all others of its connection (libcurl 7.88), also
  // the one that must go on.
  if (head_.version == HttpVersion::k2 || budget_->may_grow()) return true;
  pause_clock();
  return false;
}

// False: the call is paused until Client::resume.
bool CurlCall::is_taken_now() {
  if (!request_.takes_more || request_.takes_more()) return true;
  pause_clock();
  return false;
}

void CurlCall::pause_clock() {
  if (!times_.paused) times_.paused = shared_.loop.clock().now();
}

void CurlCall::resume_clock() {
  resume_times(times_, shared_.loop.clock().now());
}

// --- limits -------------------------------------------------------------------------------------

DueLimit CurlCall::due(TimePoint now) {
  const DueLimit due = due_limit(limits(), times_);
  if (due.at > now || due.kind != LimitKind::kIdle || !has_uploaded()) return due;
  times_.progress = now;
  return due_limit(limits(), times_);
}

// Since the last time this was asked: the one kind of progress that no callback reports.
bool CurlCall::has_uploaded() {
  const auto bytes = get<curl_off_t>(easy(), CURLINFO_SIZE_UPLOAD_T);
  return std::exchange(uploaded_bytes_, bytes) != bytes;
}

// --- the end ------------------------------------------------------------------------------------

CurlCall::Next CurlCall::ended(CURLcode code, const std::function<bool()>& has_idle_connection) {
  at_file_limit_ = code != CURLE_OK && !times_.connected &&
                   (at_file_limit_ || (may_lack_file(code) && is_at_file_limit()));
  if (std::exchange(has_stray_bytes_, false) && !retried_) {
    retried_ = true;
    error_ = {};
    set(easy(), CURLOPT_FRESH_CONNECT, 1L);
    return Next::kRetryOnNewConnection;
  }
  if (at_file_limit_ && !replaced_idle_ && has_idle_connection()) {
    replaced_idle_ = true;
    at_file_limit_ = false;
    error_ = {};
    return Next::kRetryReplacingIdle;
  }
  return Next::kDone;
}

ClientResult CurlCall::result(CURLcode code) {
  if (failure_) return std::move(*failure_);
  // The last redirect is the reply, as it is without following.
  if (code == CURLE_TOO_MANY_REDIRECTS) return take_reply();
  if (code != CURLE_OK) return failure_of(code);
  // libcurl takes a header that was cut off for a whole one.
  if (!head_ended_) return ClientFailure{FailureKind::kReset, true, reset_text(target_, true, "")};
  if (target_.proxy && head_.status == 407)
    return ClientFailure{FailureKind::kProxy, false, proxy_text(target_, 407, "")};
  return take_reply();
}

ClientReply CurlCall::take_reply() {
  return {.head = std::move(head_),
          .body = std::move(body_),
          .first_byte = first_byte_ - times_.start,
          .total = shared_.loop.clock().now() - times_.start,
          .via_proxy = target_.proxy.has_value()};
}

ClientFailure CurlCall::failure(FailureKind kind, std::string text) const {
  return {kind, times_.connected, std::move(text)};
}

ClientFailure CurlCall::cancelled() const {
  return failure(FailureKind::kCancelled, cancelled_text(target_));
}

ClientFailure CurlCall::timed_out(LimitKind limit) const {
  return failure(FailureKind::kTimeout, timeout_text(target_, limit, limits(), reply_began_));
}

// What libcurl's code means to a caller. The text that libcurl wrote into error_ is a detail of the
// message.
ClientFailure CurlCall::failure_of(CURLcode code) const {
  std::string_view detail = error_.data();
  if (detail.empty()) detail = curl_easy_strerror(code);
  const auto os_error = static_cast<int>(get<long>(easy(), CURLINFO_OS_ERRNO));
  const std::string os_text = os_error == 0 ? "" : std::generic_category().message(os_error);
  if (at_file_limit_) return failure(FailureKind::kFiles, files_text(target_, ""));
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return failure(FailureKind::kResolve, resolve_text(target_, ""));
    case CURLE_COULDNT_RESOLVE_PROXY:
      return failure(FailureKind::kProxy, proxy_text(target_, 0, "its name has no address"));
    case CURLE_COULDNT_CONNECT:
      if (target_.proxy) return failure(FailureKind::kProxy, proxy_text(target_, 0, os_text));
      return failure(FailureKind::kConnect,
                     connect_text(target_, os_error == ECONNREFUSED, os_text));
    case CURLE_PROXY:
      return failure(FailureKind::kProxy, proxy_text(target_, 0, detail));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return failure(FailureKind::kTls, tls_text(target_, {.untrusted = true}, detail));
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_USE_SSL_FAILED:
      return failure(FailureKind::kTls,
                     tls_text(target_, {.is_plain = speaks_no_tls(detail)}, detail));
    case CURLE_OPERATION_TIMEDOUT:
      return failure(FailureKind::kTimeout,
                     timeout_text(target_, LimitKind::kConnect, limits(), reply_began_));
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2_STREAM:
      // Before there is a connection to the server, the proxy hung up or refused.
      if (target_.proxy && !times_.connected) {
        const long status = get<long>(easy(), CURLINFO_HTTP_CONNECTCODE);
        return failure(FailureKind::kProxy,
                       proxy_text(target_, static_cast<int32_t>(status), detail));
      }
      return failure(FailureKind::kReset, reset_text(target_, reply_began_, os_text));
    default:
      return failure(FailureKind::kProtocol, protocol_text(target_, detail));
  }
}

}  // namespace windrow::http
