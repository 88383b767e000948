// BlobScanner: reads a JSON value that arrives in pieces and may have 100 MB, most of it in a few
// members: it hands these to sinks as they come, and collects the rest, which is small and is
// parsed as usual. It never holds a blob. Pure; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::session {

// Takes the value of one member. False from any method: it cannot be used, and the scan fails.
class BlobSink {
 public:
  virtual ~BlobSink() = default;

  // The value is a string: its next characters, unescaped. May be called never for an empty one.
  virtual bool on_text(std::string_view text) = 0;

  // The value is an array, of numbers and arrays: each of them, in order. `depth` is that of the
  // brackets: 1 for an element of the value itself.
  virtual bool on_number(int64_t number) = 0;
  virtual bool on_open(size_t depth) = 0;
  virtual bool on_close(size_t depth) = 0;

  // The value is complete.
  virtual bool on_end() = 0;
};

class BlobScanner {
 public:
  // A member of any object, however deep, whose value is a string or an array. Of the first such
  // value the sink gets the content; those of the same name behind it are dropped. Other values
  // (null, an object) stay where they are.
  struct Blob {
    std::string_view name;
    BlobSink* sink = nullptr;  // outlives the scanner; null: the value is dropped
  };

  // The rest may have `rest_bytes_max`.
  BlobScanner(std::vector<Blob> blobs, size_t rest_bytes_max);

  enum class State : uint8_t {
    kGoing,
    kWhole,    // one value was complete; only white space may follow
    kWrong,    // it is no JSON
    kRefused,  // a sink refused its value
    kTooLong,  // the rest is longer than it may be
  };
  State state() const { return state_; }

  // The next bytes. False: the state is none of kGoing and kWhole, and nothing more is taken.
  bool take(std::string_view bytes);

  // The value without its blobs: in their place stands null. It is JSON where the state is kWhole
  // and a parser agrees; only what matters for finding blobs is checked here.
  std::string& rest() { return rest_; }

  // Bytes taken so far; for messages.
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<Blob> blobs_;
  const size_t rest_bytes_max_;
  State state_ = State::kGoing;
  std::string rest_;
  uint64_t bytes_ = 0;
};

}  // namespace windrow::session
