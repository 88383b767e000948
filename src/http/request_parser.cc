#include "http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <utility>

namespace windrow::http {

namespace beast_http = boost::beast::http;

namespace {

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

// "0\r\n\r\n": the shortest end of a chunked body.
constexpr size_t kLastChunkBytes = 5;

// How much memory a Content-Length may reserve before a byte of the body has arrived.
constexpr uint64_t kBodyReserveMax = uint64_t{1} << 20;

}  // namespace

// --- what Beast finds -------------------------------------------------------------------------

RequestParser::Machine::Machine(RequestParser& parser) : parser_(parser) {
  header_limit(parser.limits_.head_bytes_max);
  body_limit(boost::none);  // accept_body() says
  eager(false);             // until the head has been told
}

void RequestParser::Machine::on_request_impl(beast_http::verb, Text method, Text target,
                                             int version, ErrorCode& error) {
  parser_.version_ = version;
  parser_.set_line(view(method), view(target));
  parser_.add_head_bytes(method.size() + target.size(), error);
}

void RequestParser::Machine::on_response_impl(int, Text, int, ErrorCode&) {}

void RequestParser::Machine::on_field_impl(beast_http::field field, Text name, Text value,
                                           ErrorCode& error) {
  // Beast's own limit is for what is not consumed yet: a head that comes field by field has none.
  parser_.add_head_bytes(name.size() + value.size(), error);
  if (error) return;
  if (++parser_.fields_ > parser_.limits_.headers_max) {
    return parser_.refuse(
        431, fmt::format("more than {} header fields", parser_.limits_.headers_max), error);
  }
  if (parser_.head_done_) return;  // a trailer, too late to decide anything
  // Beast takes an unknown coding for none. Bytes that a proxy in front understood as a body would
  // then be the next request (request smuggling).
  if (field == beast_http::field::transfer_encoding &&
      (!same_ignoring_case(view(value), "chunked") || parser_.version_ < 11)) {
    return parser_.refuse(501, "the only transfer coding is chunked, in HTTP/1.1", error);
  }
  if (field == beast_http::field::content_encoding && !view(value).empty() &&
      !same_ignoring_case(view(value), "identity")) {
    const bool gzip =
        same_ignoring_case(view(value), "gzip") || same_ignoring_case(view(value), "x-gzip");
    if (!gzip || std::exchange(parser_.gzip_, true)) {
      return parser_.refuse(
          415, "a body is plain, or packed once by gzip: send this one without Content-Encoding",
          error);
    }
  }
  if (field == beast_http::field::expect && parser_.version_ >= 11) {
    if (!same_ignoring_case(view(value), "100-continue")) {
      return parser_.refuse(417, "Expect takes nothing but 100-continue; leave the header out",
                            error);
    }
    parser_.expects_ = true;
  }
  parser_.headers_.add(view(name), view(value));
}

void RequestParser::Machine::on_header_impl(ErrorCode& error) {
  parser_.head_done_ = true;
  int hosts = 0;
  for (const Headers::Field field : parser_.headers_)
    hosts += same_ignoring_case(field.name, "Host") ? 1 : 0;
  if (hosts > 1 || (parser_.version_ >= 11 && hosts == 0)) {
    parser_.refuse(400,
                   hosts == 0 ? "the request has no Host header, which HTTP/1.1 demands"
                              : "the request has several Host headers; it must have one",
                   error);
  }
  if (!chunked()) parser_.content_length_ = content_length().value_or(0);
}

void RequestParser::Machine::on_body_init_impl(const boost::optional<uint64_t>& bytes, ErrorCode&) {
  if (bytes && !parser_.in_pieces_)
    parser_.body_.reserve(static_cast<size_t>(std::min(*bytes, kBodyReserveMax)));
}

size_t RequestParser::Machine::on_body_impl(Text bytes, ErrorCode&) {
  parser_.body_.append(bytes.data(), bytes.size());
  parser_.expects_ = false;
  return bytes.size();
}

void RequestParser::Machine::on_chunk_header_impl(uint64_t, Text, ErrorCode&) {
  parser_.expects_ = false;
}

size_t RequestParser::Machine::on_chunk_body_impl(uint64_t, Text bytes, ErrorCode&) {
  parser_.body_.append(bytes.data(), bytes.size());
  return bytes.size();
}

void RequestParser::Machine::on_finish_impl(ErrorCode&) {
  parser_.expects_ = false;
}

// --- the parser -------------------------------------------------------------------------------

RequestParser::RequestParser(const RequestLimits& limits) : limits_(limits) {
  next();
}

void RequestParser::next() {
  line_.clear();
  method_ = path_ = query_ = {};
  version_ = 11;
  headers_.clear();
  head_bytes_ = 0;
  at_line_begin_ = false;
  fields_ = 0;
  head_done_ = false;
  head_returned_ = false;
  expects_ = false;
  gzip_ = false;
  in_pieces_ = false;
  content_length_.reset();
  body_.clear();
  machine_.emplace(*this);
}

RequestParser::State RequestParser::feed(std::string_view bytes, size_t& consumed) {
  consumed = 0;
  // Some clients send an empty line after a body (RFC 9112, 2.2).
  if (!machine_->got_some()) {
    while (consumed < bytes.size() && (bytes[consumed] == '\r' || bytes[consumed] == '\n'))
      ++consumed;
  }
  if (consumed == bytes.size()) return State::kWantsMore;
  // Beast takes it for granted, by an assertion, that a last chunk it has seen the beginning of
  // comes again with so many bytes. A body that is not complete has them still before it.
  if (head_done_ && machine_->chunked() && bytes.size() < kLastChunkBytes) return State::kWantsMore;
  // A TLS handshake (RFC 8446, 5.1): a record of type 22, version 3.x.
  if (!machine_->got_some()) tls_ = bytes.substr(consumed).starts_with("\x16\x03");
  ErrorCode error;
  const bool in_head = !head_done_;
  const size_t begin = consumed;
  consumed +=
      machine_->put(boost::asio::buffer(bytes.data() + consumed, bytes.size() - consumed), error);
  if (in_head && has_folded_line(bytes.substr(begin, consumed - begin))) {
    refuse(400,
           "a line of the head begins with a space or a tab: header values on several lines "
           "(RFC 9112, 5.2) are not taken; send each header on one line",
           error);
  }
  if (error && error != beast_http::error::need_more) return fail(error);
  if (machine_->is_done()) return State::kDone;
  if (head_done_ && !std::exchange(head_returned_, true)) return State::kHead;
  // Chunk headers and trailers have no limit of Beast's.
  if (bytes.size() - consumed > limits_.head_bytes_max)
    return fail(beast_http::error::header_limit);
  return State::kWantsMore;
}

RequestParser::State RequestParser::accept_body(uint64_t bytes_max, bool in_pieces) {
  body_bytes_max_ = bytes_max;
  in_pieces_ = in_pieces;
  if (content_length_.value_or(0) > bytes_max) return fail(beast_http::error::body_limit);
  machine_->body_limit(bytes_max);
  machine_->eager(true);
  return State::kWantsMore;
}

bool RequestParser::take_expectation() {
  return head_done_ && std::exchange(expects_, false);
}

// "/a?b", or the same behind "http://host" as proxies ask.
void RequestParser::set_line(std::string_view method, std::string_view target) {
  line_.assign(method).append(target);
  method_ = {0, method.size()};
  size_t begin = 0;
  if (const size_t scheme = target.find("://");
      !target.starts_with('/') && scheme != std::string_view::npos) {
    begin = std::min(target.find('/', scheme + 3), target.size());
  }
  const size_t question = std::min(target.find('?', begin), target.size());
  path_ = {method.size() + begin, question - begin};
  query_ = {method.size() + std::min(question + 1, target.size()), 0};
  query_.bytes = line_.size() - query_.begin;
}

// Beast joins folded lines; servers in front of this one may read them otherwise. `head`: the bytes
// of the head that were consumed now.
bool RequestParser::has_folded_line(std::string_view head) {
  for (const char byte : head) {
    if (at_line_begin_ && (byte == ' ' || byte == '\t')) return true;
    at_line_begin_ = byte == '\n';
  }
  return false;
}

void RequestParser::add_head_bytes(size_t bytes, ErrorCode& error) {
  head_bytes_ += bytes;
  if (head_bytes_ > limits_.head_bytes_max) error = beast_http::error::header_limit;
}

void RequestParser::refuse(int status, std::string_view reason, ErrorCode& error) {
  failure_status_ = status;
  failure_ = reason;
  error = beast_http::error::bad_field;
}

namespace {

// What is wrong with a head, for the client's author.
std::string head_fault(const boost::system::error_code& error) {
  if (error == beast_http::error::bad_method) return "the method in its first line is not valid";
  if (error == beast_http::error::bad_target) return "the path in its first line is not valid";
  if (error == beast_http::error::bad_version)
    return "its first line does not end with HTTP/1.1 or HTTP/1.0";
  if (error == beast_http::error::bad_field)
    return "a header is not written as \"Name: value\", or its name has a character that is not "
           "allowed";
  if (error == beast_http::error::bad_value)
    return "the value of a header has a character that is not allowed";
  return error.message();
}

}  // namespace

RequestParser::State RequestParser::fail(const ErrorCode& error) {
  if (failure_status_ != 0) return State::kFailed;
  if (error == beast_http::error::header_limit) {
    failure_status_ = 431;
    failure_ =
        fmt::format("the head of the request is longer than {} bytes", limits_.head_bytes_max);
  } else if (error == beast_http::error::body_limit) {
    failure_status_ = 413;
    failure_ = fmt::format("the body of the request is longer than {} bytes", body_bytes_max_);
  } else {
    failure_status_ = 400;
    failure_ = tls_ ? "this is TLS, and this port speaks plain HTTP: use http://, or give the "
                      "server a certificate"
                    : fmt::format("this is not an HTTP request: {}", head_fault(error));
  }
  return State::kFailed;
}

}  // namespace windrow::http
