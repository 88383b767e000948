// TlsFiles: what a server shows to prove who it is.
#pragma once

#include <string>

namespace windrow::http {

// PEM. The certificate file begins with the server's own certificate, and those of who signed it
// follow, as certificate authorities hand them out. The key must not be encrypted. Both are read
// once, when the server is opened.
struct TlsFiles {
  std::string certificate_file;
  std::string key_file;
};

}  // namespace windrow::http
