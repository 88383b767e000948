// ReplySink: takes the body of an upstream's reply to a verbatim request (llm/verbatim.h) while it
// arrives, so that a long one is never held in memory as a whole.
//
// It gets the body of a reply with status 200 to 299 alone. Another reply, the text of an error, is
// short and comes whole in Answer::verbatim. A body that was begun cannot be taken back: where the
// call fails then, the request is not tried again and ends with that failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace windrow::llm {

class ReplySink {
 public:
  enum class Take : uint8_t {
    kMore,
    kPause,  // nothing more is read from the server until `resume` was called
    kStop,   // nothing more is wanted: the call ends with kCancelled
  };

  virtual ~ReplySink() = default;

  // The longest body that it takes, decompressed. A longer one ends the call with the failure
  // `reply_too_large`. Read once, before the call is sent.
  virtual size_t bytes_max() const = 0;

  // Called once, before the first bytes. `resume` ends a pause; it may be called on any thread, at
  // any time, also when there is no pause or the call has ended, and does not block. Only for sinks
  // that pause.
  virtual void on_begin(std::function<void()> /*resume*/) {}

  // Takes the next bytes, at least one and as many as came at once (about 16 KiB). Called in order,
  // one call at a time, before the Done of the request, on a thread of the backend, which it
  // blocks.
  virtual Take on_bytes(std::string_view bytes) = 0;
};

}  // namespace windrow::llm
