// What a server's replies say about a file to download: its size and hash, where it is, and why it
// cannot be had. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "http/client.h"
#include "http/headers.h"
#include "http/url.h"
#include "model_store/model_source.h"

namespace windrow::model_store {

struct RemoteFile {
  std::optional<uint64_t> bytes;
  std::string sha256;  // as the hub states it, in small hexadecimal digits; empty: unknown
  std::string etag;    // a strong one, with its quotes; empty: there is none to rely on
};

// Of a redirect of the hub on the way to the file: it knows the file's size and hash
// (X-Linked-Size, X-Linked-ETag). What it does not say stays as it was.
void add_hub_facts(const http::Headers& headers, RemoteFile& file);

// Of the reply that has the file itself (or would: HEAD): its length and its ETag.
void add_file_facts(const http::Headers& headers, RemoteFile& file);

// "bytes 100-199/200".
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  std::optional<uint64_t> total;
};

std::optional<ContentRange> parse_content_range(std::string_view text);

// Why there is no file: `head` is a reply whose status is none of 200-299, `from` who sent it.
Error status_error(const ModelSource& source, const http::ReplyHead& head, const http::Url& from,
                   bool had_token);

// Whether such a reply may be another one soon.
bool worth_another_try(int32_t status);

// --- redirects ---

// The URL that the Location header of a reply from `from` means (RFC 3986, 5.2; RFC 9110, 10.2.2).
// kInvalid where it is none, or would go on without the TLS that `from` has.
Result<http::Url> redirect_target(const http::Url& from, std::string_view location);

// Whether both are one server: then what is secret for one is so for the other.
bool same_origin(const http::Url& a, const http::Url& b);

}  // namespace windrow::model_store
