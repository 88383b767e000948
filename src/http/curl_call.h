// CurlCall: one call as libcurl sees it: an easy handle with its options, the callbacks that
// collect the reply, and what libcurl's result code means for the caller. CurlClient runs many of
// them on one multi handle. On the loop's thread only.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/call_limits.h"
#include "http/client.h"
#include "http/curl_client.h"
#include "http/curl_sockets.h"
#include "http/failure_text.h"
#include "http/loop.h"
#include "http/reply_budget.h"

namespace windrow::http {

struct EndCurlEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, EndCurlEasy>;

struct EndCurlList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, EndCurlList>;

// What the calls of one client share. Outlives them.
struct CurlShared {
  Loop& loop;
  const ClientOptions& options;
  CurlSockets& sockets;

  // A call that has an idle limit got its connection. Called from within libcurl.
  std::function<void(CallId)> on_connected;

  // A call that was paused for want of reply memory may go on. Called from within libcurl or from
  // another call's end.
  std::function<void(CallId)> on_reply_budget;
};

class CurlCall {
 public:
  // Sets every option of `easy`, which is new or was reset. `shared` outlives the call.
  CurlCall(CurlShared& shared, CallId id, ClientRequest request, Client::Done done, TimePoint start,
           CurlEasy easy);
  CurlCall(const CurlCall&) = delete;
  CurlCall& operator=(const CurlCall&) = delete;

  // The call that a handle was made for.
  static CurlCall& of(CURL* easy);

  CallId id() const { return id_; }
  CURL* easy() const { return easy_.get(); }
  const Limits& limits() const { return request_.limits; }
  const CallTimes& times() const { return times_; }

  // Whether it uses a connection, or is opening one.
  bool uses_connection() const;

  // The limit that ends it next, if nothing more happens; bytes uploaded since the last time this
  // was asked count as progress.
  DueLimit due(TimePoint now);

  // A pause is over, whatever it was for; that time counts for no limit.
  void resume_clock();

  // The transfer ended with `code`. kDone: result() has the outcome. Otherwise it is prepared to be
  // added to the multi handle again: on a new connection, because bytes that no request asked for
  // were on the kept one; or in place of an idle connection, because no file could be opened and
  // `has_idle_connection`. Each of these happens once at most.
  enum class Next : uint8_t { kDone, kRetryOnNewConnection, kRetryReplacingIdle };
  Next ended(CURLcode code, const std::function<bool()>& has_idle_connection);

  // Moves the reply out.
  ClientResult result(CURLcode code);

  ClientFailure cancelled() const;
  ClientFailure timed_out(LimitKind limit) const;

  // For after its end: what to call, and the handle, reset for the next call.
  Client::Done take_done() { return std::move(done_); }
  CurlEasy take_easy();

 private:
  void set_options();
  void set_method();
  void set_callbacks();
  ClientFailure failure(FailureKind kind, std::string text) const;
  ClientFailure failure_of(CURLcode code) const;
  ClientReply take_reply();
  bool has_uploaded();
  bool may_take_more();
  bool is_taken_now();
  void pause_clock();
  size_t take_header(std::string_view line);
  size_t take_body(std::string_view piece);

  // libcurl's callbacks; `of` is the call, `sockets` are CurlShared's.
  static int on_connected(void* of, char*, char* address, int, int port);
  static curl_socket_t open_socket(void* of, curlsocktype, curl_sockaddr* address);
  static int close_socket(void* sockets, curl_socket_t socket);
  static int on_socket_made(void* of, curl_socket_t socket, curlsocktype);
  static size_t on_header(char* data, size_t size, size_t count, void* of);
  static size_t on_body(char* data, size_t size, size_t count, void* of);

  CurlShared& shared_;
  const CallId id_;
  ClientRequest request_;
  Client::Done done_;
  CallTarget target_;
  CallTimes times_;
  CurlEasy easy_;
  CurlList headers_;
  std::array<char, CURL_ERROR_SIZE> error_{};

  std::vector<int> sockets_made_;  // for this call; one of them became the connection
  KeptConnection* connection_ = nullptr;
  bool has_stray_bytes_ = false;  // on the connection, before the request was written
  bool retried_ = false;          // for stray bytes
  bool at_file_limit_ = false;    // no file could be opened for its connection
  bool replaced_idle_ = false;    // an idle connection was closed for it

  ReplyHead head_;
  bool reply_began_ = false;
  bool head_ended_ = false;
  size_t head_bytes_ = 0;
  size_t body_bytes_ = 0;
  curl_off_t uploaded_bytes_ = 0;
  TimePoint first_byte_{};
  std::string body_;
  std::optional<ReplyBudget::Part> budget_;  // of body_, from kReplyCountedFrom on

  // Why a callback ended the call.
  std::optional<ClientFailure> failure_;
};

}  // namespace windrow::http
