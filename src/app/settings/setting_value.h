// Values as text or JSON -> the fields of Settings, checked against the rows of the table.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "app/settings/settings.h"
#include "base/result.h"

namespace windrow::app {

// Sets the value from the text of a flag or a variable: "32", "on", "a=x.gguf", which is added to a
// list. Errors: kInvalid for a value that the row does not accept; the message begins with `place`:
// "--rows-max", "WINDROW_ROWS_MAX".
Result<void> set_from_text(Settings& settings, const SettingRow& row, std::string_view text,
                           std::string_view place);

// Sets the value from a file; it replaces a list. Not for body defaults. Errors as above.
Result<void> set_from_json(Settings& settings, const SettingRow& row,
                           const boost::json::value& value, std::string_view place);

// "temperature=0" -> temperature, 0. The value is JSON if it parses, else the text itself. Errors
// as above.
Result<std::pair<std::string, boost::json::value>> parse_body_default(std::string_view text,
                                                                      std::string_view place);

}  // namespace windrow::app
