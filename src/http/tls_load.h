// Reads TlsFiles into an OpenSSL context, with errors for people.
#pragma once

#include <openssl/types.h>

#include "base/result.h"
#include "http/tls_files.h"

namespace windrow::http {

// As TlsContext::load().
Result<void> load_tls_files(const TlsFiles& files, SSL_CTX* context);

// What OpenSSL said last on this thread, for people; its list of errors is empty afterwards.
std::string take_tls_error();

}  // namespace windrow::http
