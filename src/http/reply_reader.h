// ReplyReader: takes an HTTP/1.1 reply apart as its bytes come (RFC 9112). Pure: bytes in, events
// out; it keeps none of them but the head. Strict where leniency would let two readers of one
// stream disagree about where a reply ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/client.h"

namespace windrow::http {

class ReplyReader {
 public:
  enum class Event : uint8_t {
    kMore,          // give it more bytes, behind those it left
    kHead,          // head() is there; interim replies (1xx) are passed over
    kBody,          // piece() is there
    kEnd,           // the reply is complete; what is left is not its own
    kBad,           // not HTTP, or broken: fault() says how
    kHeadTooLarge,  // or a line of a chunk that has no end
  };

  // `to_head`: the reply to a HEAD request has no body, whatever its header says.
  explicit ReplyReader(bool to_head = false) : to_head_(to_head) {}

  // Takes from the front of `bytes` up to the next event. After kMore call it again with what it
  // left and what came since. Not after kEnd or a failure.
  Event next(std::string_view& bytes);

  // What the end of the connection means here: kEnd where it ends the body, otherwise kMore: the
  // reply is not complete.
  Event end_of_connection() const {
    return part_ == Part::kUntilClose ? Event::kEnd : Event::kMore;
  }

  ReplyHead& head() { return head_; }
  std::string_view piece() const { return piece_; }
  std::string_view fault() const { return fault_; }

  // Bytes of the body to come, where the head says it; 0 otherwise.
  uint64_t body_bytes_left() const { return part_ == Part::kLength ? left_ : 0; }

  // Whether another reply may follow on the connection.
  bool keeps_connection() const { return keeps_; }

 private:
  enum class Part : uint8_t {
    kHead,
    kLength,
    kUntilClose,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailer,
    kEnd,
  };

  Event read_head(std::string_view& bytes);
  Event read_fields(std::string_view text);
  Event choose_body();
  Event take_piece(std::string_view& bytes, Part after);
  Event read_chunk_size(std::string_view& bytes);
  Event read_chunk_end(std::string_view& bytes);
  Event read_trailer(std::string_view& bytes);
  Event bad(std::string_view why) {
    fault_ = why;
    return Event::kBad;
  }

  bool to_head_;
  bool keeps_ = true;
  Part part_ = Part::kHead;
  size_t searched_ = 0;  // bytes of an incomplete head that were looked through
  size_t trailer_bytes_ = 0;
  uint64_t left_ = 0;  // of the body or the chunk
  ReplyHead head_;
  std::string_view piece_;
  std::string_view fault_;
};

}  // namespace windrow::http
