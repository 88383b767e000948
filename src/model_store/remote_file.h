// What a server's replies say about a file to download: its size and hash, where it is, and why it
// cannot be had. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "http/headers.h"
#include "http/url.h"
#include "model_store/model_source.h"

namespace windrow::model_store {

struct RemoteFile {
  std::optional<uint64_t> bytes;
  std::string sha256;  // stated by the hub, in lower-case hexadecimal digits; empty: unknown
  std::string etag;    // a strong ETag with its quotes; empty: none
};

// Reads the size and hash that the hub states in a redirect to the file (X-Linked-Size,
// X-Linked-ETag). Members that it does not state are unchanged.
void add_hub_facts(const http::Headers& headers, RemoteFile& file);

// Reads length and ETag from the reply with the file itself, or from that to HEAD.
void add_file_facts(const http::Headers& headers, RemoteFile& file);

// "bytes 100-199/200".
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  std::optional<uint64_t> total;
};

std::optional<ContentRange> parse_content_range(std::string_view text);

// The error for a reply whose status is not 200-299; `from` is the address that sent it.
Error status_error(const ModelSource& source, const http::ReplyHead& head, const http::Url& from,
                   bool had_token);

// Whether another attempt may succeed after a reply of this status.
bool worth_another_try(int32_t status);

// --- redirects ---

// The URL of the Location header of a reply from `from` (RFC 3986, 5.2; RFC 9110, 10.2.2). kInvalid
// if it is not a URL, or has no TLS where `from` has.
Result<http::Url> redirect_target(const http::Url& from, std::string_view location);

// Whether both have the same origin, so that a secret for one may be sent to the other.
bool same_origin(const http::Url& a, const http::Url& b);

}  // namespace windrow::model_store
