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

}  // namespace windrow::grammar
