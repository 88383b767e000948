// MultipartReader: a body of type multipart/form-data (RFC 7578), read as it arrives: bytes in,
// parts with their headers and then their bytes out. Pure; keeps no more than the head of one part
// and the beginning of what may be a boundary, however large a part is.
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

// What comes before the bytes of a part.
struct PartHead {
  std::string name;                     // of the form's field
  std::optional<std::string> filename;  // as the client calls it: a text, never a path to be used
  std::string content_type;             // empty where there is none
};

// Who takes the parts, one after the other: begin, bytes as often as it takes, end. What fails is
// handed on by feed(), and nothing is called afterwards.
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
  // `content_type` is the request's header. kInvalid: it is no multipart/form-data, or names no
  // boundary that RFC 2046 allows (1 to 70 characters).
  static Result<MultipartReader> of(std::string_view content_type, MultipartLimits limits = {});

  // The next bytes of the body, cut anywhere. kInvalid, saying at which byte of the body: no form,
  // a part without a name, above a limit; else what the sink failed with. After a failure it keeps
  // saying the same.
  Result<void> feed(std::string_view bytes, PartSink& sink);

  // The body has ended. kInvalid: it stops before its closing boundary.
  Result<void> finish();

 private:
  enum class State : uint8_t { kPreamble, kAfterBoundary, kHead, kBytes, kEpilogue };

  MultipartReader(std::string boundary, MultipartLimits limits);

  Result<bool> step(size_t& taken, PartSink& sink);
  Error fault(std::string_view what, size_t taken) const;

  std::string boundary_;  // with what stands before it: "\r\n--" and the name
  MultipartLimits limits_;
  State state_ = State::kPreamble;
  std::string kept_;  // not yet decided: what may be a boundary, or a head that is not whole
  uint64_t at_ = 0;   // bytes of the body that are decided
  int32_t parts_ = 0;
  std::optional<Error> failed_;
};

}  // namespace windrow::http
