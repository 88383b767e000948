// MultipartReader: reads a body of type multipart/form-data (RFC 7578) as it arrives: bytes in,
// parts with their headers and then their bytes out. Pure; however large a part is, it keeps only
// the head of one part and the beginning of a possible boundary.
//
//   Result<MultipartReader> reader = MultipartReader::of(content_type);
//   while (more) reader->feed(bytes, sink);
//   reader->finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::http {

// The head of a part.
struct PartHead {
  std::string name;                     // the form's field
  std::optional<std::string> filename;  // the client's name: a text, never to be used as a path
  std::string content_type;             // empty where there is none
};

// Takes the parts, one after the other: begin(), bytes() any number of times, end(). An error is
// returned by feed(), and nothing is called afterwards.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual Result<void> begin(const PartHead& head) = 0;
  virtual Result<void> bytes(std::string_view bytes) = 0;
  virtual Result<void> end() = 0;
};

struct MultipartLimits {
  int32_t parts_max = 64;
  size_t head_bytes_max = size_t{8} << 10;  // all header fields of one part
};

// Used by one thread at a time.
class MultipartReader {
 public:
  // `content_type`: the request's header. kInvalid: it is not multipart/form-data, or has no
  // boundary that RFC 2046 allows (1 to 70 characters).
  static Result<MultipartReader> of(std::string_view content_type, MultipartLimits limits = {});

  // Reads the next bytes of the body, cut anywhere. kInvalid, with the offset in the body: no form,
  // a part without a name, above a limit; otherwise the sink's error. Later calls return the same
  // error.
  Result<void> feed(std::string_view bytes, PartSink& sink);

  // The body has ended. kInvalid: its closing boundary is missing.
  Result<void> finish();

 private:
  enum class State : uint8_t { kPreamble, kAfterBoundary, kHead, kBytes, kEpilogue };

  MultipartReader(std::string boundary, MultipartLimits limits);

  Result<bool> step(size_t& taken, PartSink& sink);
  Error fault(std::string_view what, size_t taken) const;

  std::string boundary_;  // "\r\n--" and the name
  MultipartLimits limits_;
  State state_ = State::kPreamble;
  std::string kept_;  // undecided bytes: a possible boundary, or an incomplete head
  uint64_t at_ = 0;   // offset in the body behind the decided bytes
  int32_t parts_ = 0;
  std::optional<Error> failed_;
};

}  // namespace windrow::http
