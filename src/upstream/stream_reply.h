// StreamReply: the reply to a request whose answer is heard while it is made. The bytes of its body
// go in as they come; out come the server's events, each to be passed on as it was written, and in
// the end what became of the request. Pure; used by one thread at a time.
//
// A server that does not know `stream`, or refuses it, answers as a whole: then there are no events
// and the outcome is that of read_reply.h.
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
#include "upstream/read_reply.h"
#include "upstream/sse_reader.h"
#include "upstream/structure.h"

namespace windrow::upstream {

class StreamReply {
 public:
  // `choices`: so many the answer has, where a stream ends without `[DONE]`.
  StreamReply(Asked asked, WantedStructure wanted, int64_t choices);

  // Some of the body of a reply with status 2xx. Appends what is to be passed on, one line of JSON
  // for each event; the one that tells only the usage is among them. The outcome, as soon as it is
  // certain: an answer at `[DONE]`, a failure where the stream is no stream any more. Nothing is
  // to be added after that.
  std::optional<llm::Outcome> add(const http::ReplyHead& head, std::string_view bytes,
                                  std::vector<std::string>& events);

  // The call has ended and there was no outcome yet. As add().
  //
  // Before anything was passed on, failures are as read_reply.h has them, so that the request may
  // be sent again. Afterwards they are kRequest with status 502, because nothing can be taken back:
  // `stream_broken`, or the server's own code where an event of it says what went wrong; and
  // `invalid_structured_output` where what was said is not of the form that was asked for.
  llm::Outcome end(http::ClientResult result, int64_t now_unix_s, std::vector<std::string>& events);

  // Whether the reply is a stream and some of it was passed on.
  bool has_begun() const { return passed_on_ > 0; }

 private:
  enum class Kind : uint8_t { kUnknown, kWhole, kEvents };

  // One choice so far.
  struct Said {
    std::string text;  // where it has to be of a form
    std::string finish_reason;
  };

  void find_kind(const http::ReplyHead& head);
  std::optional<llm::Outcome> read(std::string_view bytes, std::vector<std::string>& events);
  std::optional<llm::Outcome> take(std::vector<SseEvent> events, std::vector<std::string>& out);
  std::optional<llm::Outcome> take(SseEvent event, std::vector<std::string>& out);
  void note(const boost::json::object& event);
  bool is_whole() const;
  llm::Outcome answer() const;
  llm::Failure told(const SseEvent& event, const boost::json::value& body) const;
  llm::Failure broken(std::string_view why) const;

  const Asked asked_;
  const WantedStructure wanted_;
  const int64_t choices_;

  Kind kind_ = Kind::kUnknown;
  std::string body_;  // until its kind is known, and of a whole reply
  SseReader reader_;
  int64_t passed_on_ = 0;
  std::map<int64_t, Said> said_;
  llm::Usage usage_;
};

}  // namespace windrow::upstream
