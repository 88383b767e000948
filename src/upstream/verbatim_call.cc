#include "upstream/verbatim_call.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {
namespace {

constexpr std::string_view kContentType = "Content-Type";

// What frames a message or belongs to a connection is the client's to set; and it could not unpack
// a reply in an encoding that it did not ask for.
bool is_of_connection(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {"Accept-Encoding",
                                                       "Connection",
                                                       "Content-Length",
                                                       "Expect",
                                                       "Host",
                                                       "Keep-Alive",
                                                       "Proxy-Connection",
                                                       "TE",
                                                       "Trailer",
                                                       "Upgrade",
                                                       "Proxy-Authorization",
                                                       "Transfer-Encoding"};
  return std::ranges::any_of(
      kNames, [&](std::string_view one) { return http::same_ignoring_case(one, name); });
}

}  // namespace

http::Method method_of(llm::HttpMethod method) {
  switch (method) {
    case llm::HttpMethod::kGet:
      return http::Method::kGet;
    case llm::HttpMethod::kPut:
      return http::Method::kPut;
    case llm::HttpMethod::kPatch:
      return http::Method::kPatch;
    case llm::HttpMethod::kDelete:
      return http::Method::kDelete;
    case llm::HttpMethod::kPost:
      break;
  }
  return http::Method::kPost;
}

http::Url target_of(const http::Url& base, const llm::Request& request) {
  if (!request.verbatim || request.verbatim->target.empty())
    return target_of(base, request.endpoint);
  // Behind the port, a text that begins otherwise could name another host: "@other/".
  const std::string& target = request.verbatim->target;
  return beside_version(base, target.starts_with('/') ? target : "/" + target);
}

http::Headers with_headers_of(const llm::Request& request, http::Headers own) {
  http::Headers all = own;
  for (const llm::RequestHeader& header : request.headers) {
    if (is_of_connection(header.name)) continue;
    if (request.verbatim && http::same_ignoring_case(header.name, kContentType)) {
      all.set(header.name, header.value);
    } else if (!own.has(header.name)) {
      all.add(header.name, header.value);
    }
  }
  return all;
}

llm::Outcome read_verbatim(const Asked& asked, http::ClientResult result) {
  if (std::holds_alternative<http::ClientFailure>(result)) return read_reply(asked, result, 0);
  auto& reply = std::get<http::ClientReply>(result);
  llm::Answer answer;
  answer.verbatim = {.status = reply.head.status,
                     .content_type = std::string(reply.head.headers.get(kContentType).value_or("")),
                     .body = std::move(reply.body)};
  answer.timings = {.queue_ms = 0,
                    .prefill_ms = milliseconds(reply.first_byte),
                    .decode_ms = milliseconds(reply.total - reply.first_byte)};
  return answer;
}

bool SinkFlow::take(std::string_view bytes) {
  if (!std::exchange(begun_, true)) {
    sink_->on_begin([resumed = resumed_, resume = std::move(resume_)] {
      ++*resumed;
      resume();
    });
  }
  const uint64_t resumed = *resumed_;
  paused_at_.reset();
  switch (sink_->on_bytes(bytes)) {
    case llm::ReplySink::Take::kMore:
      return true;
    case llm::ReplySink::Take::kPause:
      paused_at_ = resumed;
      return true;
    case llm::ReplySink::Take::kStop:
      break;
  }
  return false;
}

}  // namespace windrow::upstream
