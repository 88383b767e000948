// Client: sends HTTP requests and returns whole replies, or pieces of them as they arrive.
// CurlClient implements it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/id.h"
#include "http/call_limits.h"
#include "http/headers.h"
#include "http/url.h"

namespace windrow::http {

using CallId = Id<struct CallTag>;

enum class Method : uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete };

std::string_view to_string(Method method);

enum class HttpVersion : uint8_t { k1_0, k1_1, k2 };

// The part of a reply before the body.
struct ReplyHead {
  int32_t status = 0;
  Headers headers;
  HttpVersion version = HttpVersion::k1_1;
};

struct ClientRequest {
  // Takes a piece of the body of a reply with status 200-299, on the loop's thread; false cancels
  // the call. Other bodies (the text of an error) are collected all the same.
  using OnData = std::function<bool(const ReplyHead&, std::string_view)>;

  Method method = Method::kGet;
  Url url;
  // The client adds Host, Content-Length, User-Agent, Accept-Encoding and Connection; a User-Agent
  // or Accept-Encoding here replaces its own.
  Headers headers;
  // Shared, because a retry needs it again. Null: none.
  std::shared_ptr<const std::string> body;
  Limits limits;
  OnData on_data;  // empty: the reply has the whole body

  // Asked before each piece that on_data would get, on the loop's thread; false pauses the call
  // until Client::resume: its socket is not read, and the pause counts for no limit. Such a call
  // does not use HTTP/2, where a paused reply stops the others of its connection. Empty: never.
  std::function<bool()> takes_more;

  int32_t redirects_max = 0;  // 0: redirects are not followed but returned as replies
};

struct ClientReply {
  ReplyHead head;
  std::string body;        // decompressed; empty where on_data took it
  Duration first_byte{};   // from send() to the first byte of the reply
  Duration total{};        // from send() to its end
  bool via_proxy = false;  // then an error status may be the proxy's own
};

enum class FailureKind : uint8_t {
  kResolve,    // the host's name is not known
  kConnect,    // no connection: refused, unreachable
  kFiles,      // this process may open no more files, so no server was asked
  kTls,        // TLS does not work, or the certificate is not trusted
  kProxy,      // the fault is the proxy's, not the server's
  kTimeout,    // a limit of time
  kReset,      // the connection ended before the reply did
  kTooLarge,   // the reply has more bytes than reply_bytes_max
  kProtocol,   // the reply is not HTTP, or the request cannot be sent as HTTP
  kCancelled,  // by cancel(), by on_data, or by the end of the client
};

std::string_view to_string(FailureKind kind);

struct ClientFailure {
  FailureKind kind = FailureKind::kConnect;
  // Whether any byte of the request could have reached the server, which may then be working on it.
  bool sent = false;
  // The cause, the place and what to do next, in the form of Error::message.
  std::string message;
};

using ClientResult = std::variant<ClientReply, ClientFailure>;

// Any thread. The destructor cancels unfinished calls and blocks until every Done has returned (a
// Done that sends again then gets kCancelled again). Limits and timers use the loop's clock.
class Client {
 public:
  // Called exactly once per call, on the loop's thread; must not block. Never before send() has
  // returned to a caller on that thread.
  using Done = std::function<void(ClientResult)>;

  virtual ~Client() = default;

  // Sends a request. Never blocks; a burst of calls wakes the loop once.
  virtual CallId send(ClientRequest request, Done done) = 0;

  // Ends the call with kCancelled; no effect when it has ended. Never blocks.
  virtual void cancel(CallId call) = 0;

  // A call that ClientRequest::takes_more paused asks it again; no effect on one that is not paused
  // or has ended. Never blocks. Clients that never pause have nothing to do.
  virtual void resume(CallId /*call*/) {}
};

}  // namespace windrow::http
