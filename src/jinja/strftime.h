// Times as text: strftime of the C locale, whatever the locale of the process is.
#pragma once

#include <string>
#include <string_view>

#include "jinja/civil_time.h"

namespace windrow::jinja {

// As Python's datetime without a time zone: what is no directive stays as it is.
std::string strftime(std::string_view format, const CivilTime& time);

}  // namespace windrow::jinja
