// A certificate made on the spot: for these names, signed by itself, so that it is its own
// authority. Tests trust it by its file, or do not.
#pragma once

#include <string>
#include <vector>

namespace windrow::http::testing {

struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

// `names`: DNS names and IPv4 addresses it is for.
TestCertificate make_certificate(const std::vector<std::string>& names);

// The same key (PEM) behind a password.
std::string encrypt_key(const std::string& key_pem);

}  // namespace windrow::http::testing
