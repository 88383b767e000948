// StreamReply: the reply to a request whose answer is streamed. The bytes of its body go in as they
// arrive; out come the server's events, each to be passed on as it was written, and in the end the
// outcome of the request. Pure; one thread at a time.
//
// A server that does not know `stream`, or refuses it, answers as a whole: then there are no events
// and the outcome is that of read_reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.h"
#include "llm/answer.h"
#include "upstream/answer_format_check.h"
#include "upstream/read_reply.h"
#include "upstream/sse_reader.h"

namespace windrow::upstream {

class StreamReply {
 public:
  // `choices`: how many the answer must have where a stream ends without `[DONE]`.
  StreamReply(Asked asked, WantedStructure wanted, int64_t choices);

  // Takes bytes of the body of a reply with status 2xx. Appends the events to pass on, one line of
  // JSON each, the one with only the usage among them. Returns the outcome as soon as it is
  // certain: an answer at `[DONE]`, a failure where the stream is damaged. Not to be called after
  // that.
  std::optional<llm::Outcome> add(const http::ReplyHead& head, std::string_view bytes,
                                  std::vector<std::string>& events);

  // The call has ended without an outcome so far. As add().
  //
  // Before anything was passed on, failures are those of read_reply, so that the request may be
  // sent again. Afterwards they are kRequest with status 502, because nothing can be taken back:
  // `stream_broken`, or the server's own code where it sent an error event; and
  // `invalid_structured_output` where the answer does not have the form that was asked for.
  llm::Outcome end(http::ClientResult result, int64_t now_unix_s, std::vector<std::string>& events);

  // The reply is a stream, and some of it was passed on.
  bool has_begun() const { return passed_on_ > 0; }

 private:
  enum class Kind : uint8_t { kUnknown, kWhole, kEvents };

  // What has arrived of one choice.
  struct Choice {
    std::string text;  // kept where it must have a form
    std::string finish_reason;
  };

  void find_kind(const http::ReplyHead& head);
  std::optional<llm::Outcome> read(std::string_view bytes, std::vector<std::string>& events);
  std::optional<llm::Outcome> take(std::vector<SseEvent> events, std::vector<std::string>& out);
  std::optional<llm::Outcome> take(SseEvent event, std::vector<std::string>& out);
  void note(const boost::json::object& event);
  bool is_whole() const;
  llm::Outcome answer() const;
  llm::Failure failure_in(const SseEvent& event, const boost::json::value& body) const;
  llm::Failure broken(std::string_view why) const;

  const Asked asked_;
  const WantedStructure wanted_;
  const int64_t choices_;

  Kind kind_ = Kind::kUnknown;
  std::string body_;  // of a reply that is no stream, or may be none
  SseReader reader_;
  int64_t passed_on_ = 0;  // events
  std::map<int64_t, Choice> arrived_;
  llm::Usage usage_;
};

}  // namespace windrow::upstream
