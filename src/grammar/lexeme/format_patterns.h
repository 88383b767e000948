// The formats of formats.h as regular expressions over the whole text. Pure.
#pragma once

#include <string>

namespace windrow::grammar {

std::string date_pattern();
std::string time_pattern();
std::string date_time_pattern();
std::string duration_pattern();
std::string email_pattern();
std::string hostname_pattern();
std::string ipv4_pattern();
std::string ipv6_pattern();
std::string uri_pattern();
std::string uuid_pattern();

std::string uri_reference_pattern();
std::string uri_template_pattern();
std::string iri_pattern();
std::string iri_reference_pattern();
std::string json_pointer_pattern();
std::string relative_json_pointer_pattern();
std::string byte_pattern();
std::string regex_pattern();

// Beyond those of hostname and email.
std::string idn_hostname_pattern();
std::string idn_email_pattern();

}  // namespace windrow::grammar
