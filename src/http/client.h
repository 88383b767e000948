// Client: sends HTTP requests and gives back whole replies, or pieces of them as they come.
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

enum class Method : uint8_t { kGet, kHead, kPost, kPut, kDelete };

std::string_view to_string(Method method);

enum class HttpVersion : uint8_t { k1_0, k1_1, k2 };

// What comes before the body.
struct ReplyHead {
  int32_t status = 0;
  Headers headers;
  HttpVersion version = HttpVersion::k1_1;
};

struct ClientRequest {
  // Takes a piece of the body of a reply with status 200-299, on the loop's thread; false ends the
  // call as cancelled. Other bodies (an error's text) are collected even then.
  using OnData = std::function<bool(const ReplyHead&, std::string_view)>;

  Method method = Method::kGet;
  Url url;
  // Besides those that every message needs: Host, Content-Length, User-Agent, Accept-Encoding and
  // Connection are the client's, but a User-Agent or Accept-Encoding here replaces its own.
  Headers headers;
  // Shared, because who sends it again later needs it too; null: none.
  std::shared_ptr<const std::string> body;
  Limits limits;
  OnData on_data;             // empty: the reply has the whole body
  int32_t redirects_max = 0;  // followed; 0: a redirect is a reply like any other
};

struct ClientReply {
  ReplyHead head;
  std::string body;        // decompressed; empty where on_data took it
  Duration first_byte{};   // from send to the first byte of the reply
  Duration total{};        // from send to its end
  bool via_proxy = false;  // an error status may then be the proxy's own
};

enum class FailureKind : uint8_t {
  kResolve,    // the host's name is not known
  kConnect,    // no connection: refused, unreachable
  kFiles,      // this process may open no more files, so nobody was asked
  kTls,        // no trusted or no working TLS
  kProxy,      // the proxy, not the server, is why
  kTimeout,    // one of the limits of time
  kReset,      // the connection ended before the reply did
  kTooLarge,   // the reply has more bytes than reply_bytes_max
  kProtocol,   // what came is not HTTP, or what was to be sent is not
  kCancelled,  // by cancel(), by on_data, or by the end of the client
};

std::string_view to_string(FailureKind kind);

struct ClientFailure {
  FailureKind kind = FailureKind::kConnect;
  // Whether any byte of the request could have reached the server: then it may be at work on it.
  bool sent = false;
  // What went wrong, where, and what to do next; in the form of Error::message.
  std::string message;
};

using ClientResult = std::variant<ClientReply, ClientFailure>;

// Any thread. Outlives its calls: the destructor cancels what is unfinished and waits until every
// Done has returned (a Done that sends again then gets kCancelled again). Limits and timers go by
// the loop's clock.
class Client {
 public:
  // Called exactly once per call, on the loop's thread, which waits for it: hand the result on and
  // return. Never before send has returned to a caller on that thread.
  using Done = std::function<void(ClientResult)>;

  virtual ~Client() = default;

  // Never blocks, and wakes the loop once for a burst of calls.
  virtual CallId send(ClientRequest request, Done done) = 0;

  // Ends the call with kCancelled, unless it has ended already.
  virtual void cancel(CallId call) = 0;
};

}  // namespace windrow::http
