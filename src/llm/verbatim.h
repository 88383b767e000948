// A verbatim request is a raw one whose reply is passed on as the upstream sent it: whatever its
// status, neither judged nor parsed. Only for servers elsewhere. Plain values.
//
// What such a request may say and what becomes of its reply is between the client and the server:
// so its answer is never shared with an equal request, packed or cached, and the tokens it used are
// not known.
#pragma once

#include <cstdint>
#include <string>

namespace windrow::llm {

enum class HttpMethod : uint8_t { kGet, kPost, kPut, kPatch, kDelete };

struct Verbatim {
  HttpMethod method = HttpMethod::kPost;

  // From the root of the server, with its query: "/generate", "/v1/models?x=1". Empty: the route of
  // Request::endpoint.
  std::string target;
};

// The upstream's reply.
struct VerbatimReply {
  int32_t status = 200;
  std::string content_type;  // empty: it named none

  // Empty where a ReplySink took it. In a reply of an error the upstream's API key, which servers
  // repeat there, is replaced by "***".
  std::string body;
};

// A header that a client sends along.
struct RequestHeader {
  std::string name;
  std::string value;
};

}  // namespace windrow::llm
