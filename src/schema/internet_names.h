// Addresses and URIs as their standards spell them.
#pragma once

#include <string_view>

namespace windrow::schema {

bool is_ipv4(std::string_view text);  // RFC 2673, 3.2: "192.0.2.1", no zeros in front
bool is_ipv6(std::string_view text);  // RFC 4291, 2.2: no zone

bool is_uri(std::string_view text);            // RFC 3986, 3: with a scheme
bool is_uri_reference(std::string_view text);  // RFC 3986, 4.1
bool is_iri(std::string_view text);            // RFC 3987, 2.2
bool is_iri_reference(std::string_view text);

}  // namespace windrow::schema
