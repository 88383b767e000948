// RequestParser: bytes from a socket -> requests. Pure.
//
// It is Beast's parser with storage of its own, so that a connection allocates nothing once its
// buffers have grown. Every limit is set on the object that parses: Beast's message reader makes a
// parser of its own, which ignores limits that were set on another.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/headers.h"

namespace windrow::http {

struct RequestLimits {
  uint32_t head_bytes_max = 16 * 1024;  // request line and headers; also for trailers
  size_t headers_max = 100;
  uint64_t body_bytes_max = 64ULL * 1024 * 1024;
};

// Not thread-safe. Views and references are valid until the next feed() or next().
class RequestParser {
 public:
  explicit RequestParser(const RequestLimits& limits);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // kHead: the head is complete, and a body follows of which nothing was read yet; once for each
  // request with a body. Then accept_body() must be called.
  enum class State : uint8_t { kWantsMore, kHead, kDone, kFailed };

  // Reads from the front of `bytes` and sets `consumed`. Bytes that are not consumed must be given
  // again with more behind them, or belong to the next request. After kFailed nothing more can be
  // read.
  State feed(std::string_view bytes, size_t& consumed);

  // After kHead: sets how long the body may be. kFailed (413): its stated length is more; otherwise
  // kWantsMore. `in_pieces`: the caller takes the bytes out of body() after every feed().
  State accept_body(uint64_t bytes_max, bool in_pieces = false);

  // Makes it ready for the next request.
  void next();

  // Whether a part of a request was consumed: more than the empty line that some clients send.
  bool begun() const { return machine_->got_some(); }

  // The request; after kHead and kDone.
  std::string_view method() const { return text(method_); }
  std::string_view path() const { return text(path_); }
  std::string_view query() const { return text(query_); }  // without the question mark
  const Headers& headers() const { return headers_; }
  std::string& body() { return body_; }  // as far as it was read; may be moved out
  std::optional<uint64_t> content_length() const { return content_length_; }  // 0: no body
  bool is_gzip() const { return gzip_; }                                      // the body is packed
  bool keep_alive() const { return machine_->keep_alive(); }
  bool is_http_1_0() const { return version_ < 11; }
  bool is_head() const { return method() == "HEAD"; }

  // True once for a request whose client waits for "100 Continue".
  bool take_expectation();

  // After kFailed: the status to answer with, and the reason, for people.
  int failure_status() const { return failure_status_; }
  const std::string& failure() const { return failure_; }

 private:
  using Text = boost::beast::string_view;
  using ErrorCode = boost::beast::error_code;

  // Beast calls this with what it finds; it writes into the parser around it.
  class Machine final : public boost::beast::http::basic_parser<true> {
   public:
    explicit Machine(RequestParser& parser);

   private:
    void on_request_impl(boost::beast::http::verb verb, Text method, Text target, int version,
                         ErrorCode& error) override;
    void on_response_impl(int status, Text reason, int version, ErrorCode& error) override;
    void on_field_impl(boost::beast::http::field field, Text name, Text value,
                       ErrorCode& error) override;
    void on_header_impl(ErrorCode& error) override;
    void on_body_init_impl(const boost::optional<uint64_t>& bytes, ErrorCode& error) override;
    size_t on_body_impl(Text bytes, ErrorCode& error) override;
    void on_chunk_header_impl(uint64_t bytes, Text extensions, ErrorCode& error) override;
    size_t on_chunk_body_impl(uint64_t left, Text bytes, ErrorCode& error) override;
    void on_finish_impl(ErrorCode& error) override;

    RequestParser& parser_;
  };

  struct Range {
    size_t begin = 0;
    size_t bytes = 0;
  };

  std::string_view text(Range range) const {
    return std::string_view(line_).substr(range.begin, range.bytes);
  }
  void set_line(std::string_view method, std::string_view target);
  bool has_folded_line(std::string_view head);
  void add_head_bytes(size_t bytes, ErrorCode& error);
  void refuse(int status, std::string_view reason, ErrorCode& error);
  State fail(const ErrorCode& error);

  const RequestLimits limits_;
  std::optional<Machine> machine_;

  std::string line_;  // method and target
  Range method_;
  Range path_;
  Range query_;
  int version_ = 11;
  Headers headers_;
  size_t head_bytes_ = 0;
  bool at_line_begin_ = false;  // the last byte of the head that was consumed ended a line
  size_t fields_ = 0;
  bool head_done_ = false;
  bool head_returned_ = false;  // kHead was
  bool tls_ = false;            // the first bytes are a TLS handshake
  bool expects_ = false;
  bool gzip_ = false;
  bool in_pieces_ = false;
  std::optional<uint64_t> content_length_;  // nullopt: chunked, or the head is not complete
  uint64_t body_bytes_max_ = 0;
  std::string body_;
  int failure_status_ = 0;
  std::string failure_;
};

}  // namespace windrow::http
