// BlobScanner: reads a JSON object or array that arrives in pieces and may have 100 MB, most of it
// in a few members: it hands these to sinks as they come, and collects the rest, which is small and
// is parsed as usual. It never holds a blob. Pure; used by one thread.
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
  // The scanner has not checked that they are UTF-8.
  virtual bool on_text(std::string_view text) = 0;

  // The value is an array, of whole numbers and arrays: each of them, in order. `depth` is that of
  // the brackets: 1 for an array that is an element of the value itself.
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
    std::string_view name;     // without characters that JSON escapes; outlives the scanner
    BlobSink* sink = nullptr;  // outlives the scanner; null: the value is dropped
  };

  // The rest may have `rest_bytes_max`.
  BlobScanner(std::vector<Blob> blobs, size_t rest_bytes_max);

  enum class State : uint8_t {
    kGoing,
    kWhole,    // the value was complete; only white space may follow
    kWrong,    // it is no JSON, no object or array, or nested more than kJsonDepthMax deep
    kRefused,  // a sink refused its value, or an array for one had more than whole numbers
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
  // What the next byte is part of.
  enum class Part : uint8_t { kStructure, kKey, kString, kBlobText, kBlobNumbers };

  // What may come next in the structure of the rest.
  enum class Next : uint8_t { kKey, kColon, kValue, kCommaOrEnd };

  // What may come next in a blob of numbers.
  enum class NextNumber : uint8_t {
    kElementOrEnd,
    kElement,
    kCommaOrEnd,
    kDigit,
    kDigits,
    kNoDigit
  };

  bool fail(State state);
  void take_rest(std::string_view bytes, size_t& at);
  bool take_structure(char byte);
  bool open(char bracket);
  bool close(char bracket);
  size_t end_of_string(std::string_view bytes, size_t at);
  bool keep(std::string_view bytes);
  const Blob* blob_of(std::string_view key);

  void begin_blob(char first);
  void end_blob();
  void take_blob_text(std::string_view bytes, size_t& at);
  bool take_escape(char byte);
  bool take_hex(char byte);
  bool give_text(std::string_view text);
  void take_blob_numbers(std::string_view bytes, size_t& at);
  bool take_number_part(char byte);
  bool take_digit(char digit);
  bool end_number();

  std::vector<Blob> blobs_;
  std::vector<bool> used_;  // blobs whose sink has had its value
  size_t rest_bytes_max_;
  State state_ = State::kGoing;
  std::string rest_;
  uint64_t bytes_ = 0;

  Part part_ = Part::kStructure;
  Next next_ = Next::kValue;
  std::string open_;             // brackets
  bool escaped_ = false;         // a backslash came last in a string of the rest
  size_t key_begin_ = 0;         // in the rest
  const Blob* found_ = nullptr;  // the value that comes next is its

  // Of the blob that is being read.
  BlobSink* sink_ = nullptr;
  bool in_escape_ = false;
  int hex_digits_ = 0;  // that are still to come
  uint32_t hex_ = 0;
  uint32_t high_surrogate_ = 0;  // whose second half has to follow
  NextNumber next_number_ = NextNumber::kElementOrEnd;
  size_t depth_ = 0;
  bool negative_ = false;
  uint64_t number_ = 0;
};

}  // namespace windrow::session
