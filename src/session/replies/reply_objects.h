// ReplyObjects: the JSON objects that a server's reply consists of: its body, or the data of each
// of its events. Large members go to sinks while they arrive; the rest of each object is parsed
// when it is complete. Pure; used by one thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/replies/blob_scanner.h"
#include "session/replies/event_splitter.h"

namespace windrow::session {

// What a reply may have beside its blobs: tokens, log-probabilities and text of a turn take some
// 200 bytes a token.
inline constexpr size_t kReplyRestBytesMax = size_t{128} << 20;

class ReplyObjects final : private EventListener {
 public:
  struct Callbacks {
    // The blobs of the object that begins. Their sinks stay until the object is complete.
    std::function<std::vector<BlobScanner::Blob>()> blobs;

    // The next object. False: the reply cannot be used.
    std::function<bool(boost::json::object object)> on_object;

    // Why a sink refused its value, for messages.
    std::function<std::string()> why_refused;
  };

  ReplyObjects(bool streamed, Callbacks callbacks);
  ReplyObjects(const ReplyObjects&) = delete;
  ReplyObjects& operator=(const ReplyObjects&) = delete;

  // The next bytes. False: wrong() says why, or on_object returned false.
  bool take(std::string_view bytes);

  // The reply is complete. The only object of a body is handed on here. False as above, or because
  // a stream lacks its end, `data: [DONE]`.
  bool end();

  // Empty where on_object returned false.
  const std::string& wrong() const { return wrong_; }

 private:
  bool on_data(std::string_view text) override;
  bool on_event() override;
  bool scan(std::string_view bytes);
  bool end_object();
  bool fail(std::string why);
  std::string place() const;

  const bool streamed_;
  const Callbacks callbacks_;
  std::optional<BlobScanner> scanner_;  // of the object that is being read
  std::string wrong_;

  // Streamed.
  EventSplitter splitter_;
  std::string head_;   // of an event, while it may be [DONE]
  std::string begin_;  // of a stream without an event so far
  uint64_t events_ = 0;
  bool is_done_ = false;
};

}  // namespace windrow::session
