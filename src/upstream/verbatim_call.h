// A verbatim request as a call of HTTP: where it goes, what it sends, and how its reply is read
// (llm/verbatim.h). SinkFlow: between such a call and the sink that takes its body.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "http/client.h"
#include "http/headers.h"
#include "http/url.h"
#include "llm/answer.h"
#include "llm/reply_sink.h"
#include "llm/request.h"
#include "upstream/read_reply.h"

namespace windrow::upstream {

// Of a reply whose body a sink takes: the text of an error, which is collected.
constexpr size_t kErrorBytesMax = size_t{16} << 20;

http::Method method_of(llm::HttpMethod method);

// The URL of a request: that of its verbatim target, else the route of its endpoint. `base` is as
// with_version returns it.
http::Url target_of(const http::Url& base, const llm::Request& request);

// `own` with Request::headers beside them.
http::Headers with_headers_of(const llm::Request& request, http::Headers own);

// An Answer for every reply. Where none came, a Failure as those of read_reply.
llm::Outcome read_verbatim(const Asked& asked, http::ClientResult result);

// On the loop's thread of the client, but for `resume`.
class SinkFlow {
 public:
  // `resume`, which makes the client ask takes_more() again, may be called on any thread for as
  // long as the sink keeps it.
  SinkFlow(std::shared_ptr<llm::ReplySink> sink, std::function<void()> resume)
      : sink_(std::move(sink)), resume_(std::move(resume)) {}

  // http::ClientRequest::takes_more.
  bool takes_more() const { return !paused_at_ || *resumed_ != *paused_at_; }

  // Passes bytes on. False: no more are wanted.
  bool take(std::string_view bytes);

 private:
  std::shared_ptr<llm::ReplySink> sink_;
  std::function<void()> resume_;
  bool begun_ = false;

  // How often the sink called resume, and how often it had before it asked for the pause: it may
  // end a pause before on_bytes has returned.
  std::shared_ptr<std::atomic<uint64_t>> resumed_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::optional<uint64_t> paused_at_;
};

}  // namespace windrow::upstream
