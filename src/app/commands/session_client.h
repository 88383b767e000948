// SessionClient: asks a running server over HTTP: for its sessions, and for what it does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "http/url.h"

namespace windrow::app {

struct SessionQuestion {
  http::Method method = http::Method::kGet;
  std::string target;  // below the server's URL: "/sessions"
  std::string body;    // JSON; empty: none
};

// Used by one thread, which is not that of the client's loop. Its methods block.
class SessionClient {
 public:
  // `client` outlives it. `api_key`: empty for none.
  SessionClient(http::Client& client, http::Url server, std::string api_key);

  // The body of the reply. A stopped token ends the call. Errors: kUnavailable where no server
  // answers, or it fails; kInvalid for what it refuses, with its own words.
  Result<std::string> ask(const SessionQuestion& question, const std::stop_token& stop) const;

  // The same, for a body of any length: `take` gets it piece by piece, on the loop's thread. An
  // error of `take` ends the call and is returned.
  using Take = std::function<Result<void>(std::string_view piece)>;
  Result<void> download(const SessionQuestion& question, Take take,
                        const std::stop_token& stop) const;

 private:
  http::ClientRequest request_for(const SessionQuestion& question) const;
  Result<std::string> send(http::ClientRequest request, const std::stop_token& stop) const;

  http::Client& client_;
  const http::Url server_;
  const std::string api_key_;
};

// What an error's body says, in one line: {"error": TEXT}, {"error": {"message": TEXT}}, or a plain
// text. Empty: nothing. Pure.
std::string error_text_in(std::string_view body);

}  // namespace windrow::app
