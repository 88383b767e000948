// A request as HTTP/1.1 writes it. Pure.
#pragma once

#include <string>

#include "http/client.h"

namespace windrow::http {

// Appends the request line and the header, with the empty line at their end. The request was
// checked (request_fault).
void append_request_head(const ClientRequest& request, std::string& text);

}  // namespace windrow::http
